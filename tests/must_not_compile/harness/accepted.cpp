// Proves the harness: nothing here is wrong, so the test of this file must fail.
// expect: anything

#ifdef MISTAKE
int fine();
#endif
