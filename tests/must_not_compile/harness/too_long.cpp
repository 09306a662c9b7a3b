// Rejected with the one error that is promised, under a heap of notes.
// expect alone: no matching function for call to
// expect at most: 40 lines

template <int Number>
struct Kind {};

void take(Kind<0>);
void take(Kind<1>);
void take(Kind<2>);
void take(Kind<3>);
void take(Kind<4>);
void take(Kind<5>);
void take(Kind<6>);
void take(Kind<7>);
void take(Kind<8>);
void take(Kind<9>);
void take(Kind<10>);
void take(Kind<11>);
void take(Kind<12>);
void take(Kind<13>);
void take(Kind<14>);
void take(Kind<15>);
void take(Kind<16>);
void take(Kind<17>);
void take(Kind<18>);
void take(Kind<19>);
void take(Kind<20>);
void take(Kind<21>);
void take(Kind<22>);
void take(Kind<23>);

#ifdef MISTAKE
void give() {
    take(1);
}
#endif
