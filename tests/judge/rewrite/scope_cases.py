"""Rewrites across scopes, right ones and wrong ones, as text.

self_test.py shows that structure.py accepts the right ones and refuses the wrong ones. Each of WRONG is RIGHT with one
edit: (the rules of which one must be named, what is wrong, [(text, its replacement)]). For functions, INLINED is the
right rewrite of CALL, and WRONGLY_INLINED has edits of it; they are judged by what is left without names and types.
"""

ORIGINAL = """<ir_version: 8, opset_import: ["": 17]>
g (float[2,2] x, bool c, int64 n) => (float[2,2] y, float[k,2,2] s, float[2,2] z) \
<float[2,2] w = {1, 2, 3, 4}, int64 one = {1}>
{
  [mm] a = MatMul(x, w)
  [exp] e = Exp(a)
  [log] d = Log(e)
  [if] b = If(c)<then_branch = t () => (float[2,2] p) { [tm] p = MatMul(a, d) }, \
else_branch = f () => (float[2,2] q) { [fm] q = Gemm<alpha = 0.5>(a, a) }>
  [loop] l, s = Loop(n, , b)<body = k (int64 i, bool g, float[2,2] u) => (bool h, float[2,2] v, float[2,2] o)
  { [h] h = Identity(g)  [lm] m = MatMul(u, e)  [lr] v = Relu(m)  [le] o = Exp(u) }>
  [mm2] y = MatMul(l, w)
  [seq] r = SequenceConstruct(b, l)
  [at] z = SequenceAt(r, one)
}"""

RIGHT = """<ir_version: 8, opset_import: ["": 17]>
g (float[2,2] x, bool c, int64 n) => (float[2,2] y, float[k,2,2] s, float[2,2] z) \
<float16[2,2] w_h = {1, 2, 3, 4}, int64 one = {1}>
{
  [cx] x_h = Cast<to = 10>(x)
  [mm] a = MatMul(x_h, w_h)
  [ca] a_f = Cast<to = 1>(a)
  [exp] e = Exp(a_f)
  [ce] e_h = Cast<to = 10>(e)
  [log] d = Log(e)
  [if] b = If(c)<then_branch = t () => (float16[2,2] p) { [cd] d_h = Cast<to = 10>(d)  [tm] p = MatMul(a, d_h) },
  else_branch = f () => (float16[2,2] q) { [fm] q = Gemm<alpha = 0.5>(a, a) }>
  [loop] l, s = Loop(n, , b)<body = k (int64 i, bool g, float16[2,2] u) => (bool h, float16[2,2] v, float[2,2] o)
  { [cu] u_f = Cast<to = 1>(u)  [h] h = Identity(g)  [lm] m = MatMul(u, e_h)  [lr] v = Relu(m)  [le] o = Exp(u_f) }>
  [mm2] y_h = MatMul(l, w_h)
  [cy] y = Cast<to = 1>(y_h)
  [seq] r = SequenceConstruct(b, l)
  [at] z_h = SequenceAt(r, one)
  [cz] z = Cast<to = 1>(z_h)
}"""

DISAGREE = ("agree", "inference", "checker")
WRONG = [
    (
        ("place",),
        "a cast inside a loop of what the loop captures",
        [("  [ce] e_h = Cast<to = 10>(e)\n", ""), ("  [lm]", "  [ce] e_h = Cast<to = 10>(e)  [lm]")],
    ),
    (
        ("place",),
        "a cast outside of the only branch that reads it",
        [("{ [cd] d_h = Cast<to = 10>(d)  [tm]", "{ [tm]"), ("  [if]", "  [cd] d_h = Cast<to = 10>(d)\n  [if]")],
    ),
    (
        ("cast",),
        "a branch repeats a cast of the graph around it",
        [("{ [cd]", "{ [ce2] e_h2 = Cast<to = 10>(e)  [cd]"), ("MatMul(a, d_h)", "MatMul(e_h2, d_h)")],
    ),
    (
        ("cast",),
        "a body casts back what the graph around it cast",
        [
            ("  [le] o = Exp(u_f)", "  [ceu] e_f = Cast<to = 1>(e_h)  [le] o = Exp(e_f)"),
            ("[cu] u_f = Cast<to = 1>(u)  ", ""),
        ],
    ),
    (
        ("name",),
        "two branches use one new name",
        [("{ [fm] q = Gemm<alpha = 0.5>(a, a)", "{ [cd2] d_h = Cast<to = 10>(d)  [fm] q = Gemm<alpha = 0.5>(a, d_h)")],
    ),
    (
        DISAGREE,
        "the type of one branch changed",
        [
            (
                "(float16[2,2] q) { [fm] q = Gemm<alpha = 0.5>(a, a)",
                "(float[2,2] q) { [fm] q_h = Gemm<alpha = 0.5>(a, a)  [cq] q = Cast<to = 1>(q_h)",
            )
        ],
    ),
    (
        DISAGREE,
        "a loop gives back another type than it takes",
        [("float16[2,2] v,", "float[2,2] v,"), ("[lr] v = Relu(m)", "[lr] v_h = Relu(m)  [cv] v = Cast<to = 1>(v_h)")],
    ),
    (DISAGREE, "a loop starts with another type than it goes on with", [("Loop(n, , b)", "Loop(n, , d)")]),
    (DISAGREE, "a sequence of two types", [("SequenceConstruct(b, l)", "SequenceConstruct(b, d)")]),
    (DISAGREE, "a body input that is called low, for a value that is not", [("Loop(n, , b)", "Loop(n, , x)")]),
    (("node",), "a node in a body is gone", [("[lm] m = MatMul(u, e_h)  [lr] v = Relu(m)", "[lm] v = MatMul(u, e_h)")]),
    (("node",), "an attribute in a branch changed", [("alpha = 0.5", "alpha = 0.25")]),
    (
        ("io",),
        "what a loop collects became low",
        [
            ("float[k,2,2] s,", "float16[k,2,2] s,"),
            ("[cu] u_f = Cast<to = 1>(u)  ", ""),
            ("float[2,2] o)", "float16[2,2] o)"),
            ("Exp(u_f)", "Exp(u)"),
        ],
    ),
]

CALL = """<ir_version: 8, opset_import: ["": 17, "local": 1]>
g (float[2,2] x, bool c) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}>
{
  [mm] a = MatMul(x, w)
  [call] b = local.Relu<slope = 0.5>(a, c)
  [mm2] y = MatMul(b, w)
}
<domain: "local", opset_import: ["" : 17, "local": 1]> Relu <slope>(p, c) => (q)
{
  k = Constant<value_float = 0.5>()
  m = local.inner<scale: float = @slope>(p)
  q = If(c)<then_branch = t () => (float[2,2] r) { r = Sub(m, k) }, \
else_branch = f () => (float[2,2] r) { r = Neg(m) }>
}
<domain: "local", opset_import: ["" : 17]> inner <scale: float = 0.1>(p) => (q) \
{ q = LeakyRelu<alpha: float = @scale>(p) }"""

INLINED = """<ir_version: 8, opset_import: ["": 17]>
g (float[2,2] x, bool c) => (float[2,2] y) <float16[2,2] w_h = {15360, 16384, 16896, 17408}, float16 k_h = {14336}>
{
  [x_to_float16] x_h = Cast<to = 10>(x)
  [mm] a = MatMul(x_h, w_h)
  m = LeakyRelu<alpha = 0.5>(a)
  b = If(c)<then_branch = t () => (float16[2,2] r) { r = Sub(m, k_h) }, \
else_branch = f () => (float16[2,2] r1) { r1 = Neg(m) }>
  [mm2] y_h = MatMul(b, w_h)
  [y_to_float32] y = Cast<to = 1>(y_h)
}"""

WRONGLY_INLINED = [
    (("node",), "a function's input and its constant changed places", [("Sub(m, k_h)", "Sub(k_h, m)")]),
    (("node",), "an attribute took its default instead of the call's value", [("alpha = 0.5", "alpha = 0.1")]),
    (
        ("node",),
        "a function's node is gone",
        [("  m = LeakyRelu<alpha = 0.5>(a)\n", ""), ("(m)", "(a)"), ("(m,", "(a,")],
    ),
    (("node",), "a function's constant has another value", [("{14336}", "{14848}")]),
    (
        ("node",),
        "the operator of the function's name stands in for it",
        [("  m = LeakyRelu<alpha = 0.5>(a)\n", "  m = Relu(a)\n")],
    ),
    (
        ("cast",),
        "what was cast is cast back",
        [
            (
                "  m = LeakyRelu<alpha = 0.5>(a)\n",
                "  [x_to_float32] x_f = Cast<to = 1>(x_h)\n  m = LeakyRelu<alpha = 0.5>(a)\n  dead = Exp(x_f)\n",
            )
        ],
    ),
]
