// Proves the harness: rejected, but not with the promised message.
// expect: ignoring return value

#ifdef MISTAKE
int unknown = undeclared;
#endif
