// Proves the harness: the promised message is there, but not alone.
// expect alone: undeclared

#ifdef MISTAKE
int unknown = undeclared;
int number = "text";
#endif
