"""What check_awaits.py lets pass and what it rejects: the table of forms that g++ 12 breaks."""
import unittest

import check_awaits

GOOD = """
Task<int> f(Context ctx, std::string name) {
    co_await ctx.call(greet, name);
    co_await ctx.call(greet, name, {.retry = {.max_attempts = 3}, .timeout = 30s});
    co_await ctx.call(greet, name, {});
    auto first = co_await race{ctx.wait_for(approval), ctx.sleep(24h)};
    auto a = co_await ctx.call(greet, name);
    const auto [x, y] = co_await durable::all{ctx.call(a, 1), ctx.call(b, 2)};
    a = co_await ctx.call(greet, name);
    a += co_await ctx.call(greet, name); // co_await ? "in" : a(comment)
    if (a.empty()) {
        co_await ctx.sleep(1h);
    } else {
        trip.hotel = co_await ctx.call(book, "why co_await?");
    }
    switch (a.size()) {
    case 1: co_await ctx.sleep(1h); break;
    default: co_await ctx.sleep(2h);
    }
    try {
        co_await ctx.sleep(1h);
    } catch (...) {
    }
    registry.add(hello, [](Context inner) -> Task<int> { co_return co_await inner.call(n, 1); });
    co_return co_await ctx.continue_as_new(self, a);
}
"""

BAD = [
    "if (co_await x) { }",
    "while (co_await x) { }",
    "switch (co_await x) { }",
    "for (auto v : co_await x) { }",
    "Trip t{.a = co_await x, .b = co_await y};",
    "Trip t{.a = co_await x};",
    "co_return Trip{co_await x};",
    "auto s = c ? a : co_await x;",
    "auto s = co_await (c ? x : y);",
    "co_await f(c ? name : other);",
    "auto s = f(co_await x);",
    "auto s = co_await f(co_await x);",
    "co_await f([name](int n) { return name; });",
    "co_await all{users | transform([ctx](const User& u) { return ctx.call(a, u); })};",
    "if (a == co_await x) { }",
    "values.push_back(co_await x);",
    "co_await all{co_await x, y};",
    'co_await pay(ctx, Order{1, "a"});',
    'co_await pay(ctx, shop::Order{.id = 1});',
    'co_await pay(ctx, {1, "a"});',
    'co_await pay(ctx, std::array<std::string, 2>{"a", "b"});',
    "co_await Saga{}.run(ctx);",
    "auto done = co_await Leaf{ctx};",
]


class CheckAwaits(unittest.TestCase):
    def test_awaits_at_the_head_of_a_statement_pass(self):
        self.assertEqual(list(check_awaits.offences(GOOD)), [])

    def test_every_form_that_gcc_breaks_is_rejected(self):
        for statement in BAD:
            with self.subTest(statement):
                code = f"Task<> f() {{\n    {statement}\n}}\n"
                self.assertEqual(set(check_awaits.offences(code)), {2})

    def test_code_in_a_page_is_read_with_the_lines_of_the_page(self):
        import tempfile, pathlib
        with tempfile.TemporaryDirectory() as root:
            pathlib.Path(root, "guide.md").write_text(
                "Text: if (co_await x)\n\n```cpp\nco_await a;\nif (co_await x) {}\n```\n")
            self.assertEqual(check_awaits.problems(root, ["guide.md"]), [
                "guide.md:5: error: give this co_await a line and its result a name"])

    def test_files_can_be_named_and_must_exist(self):
        import contextlib, io, os, pathlib, tempfile
        out, err = io.StringIO(), io.StringIO()
        with tempfile.TemporaryDirectory() as root, contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(err):
            bad = os.path.join(root, "mine.cpp")
            pathlib.Path(bad).write_text("Task<> f() {\n    if (co_await x) {}\n}\n")
            self.assertEqual(check_awaits.main([bad]), 1)
            self.assertEqual(check_awaits.main([bad + "x"]), 2)
            self.assertEqual(check_awaits.main([]), 2)
        self.assertIn("mine.cpp:2: error:", out.getvalue())
        self.assertIn("no such file", err.getvalue())
        self.assertIn("usage:", err.getvalue())


if __name__ == "__main__":
    unittest.main()
