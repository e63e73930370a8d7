"""What looks like arithmetic and claims nothing false: dates, versions, code, settings, scores of games."""

from __future__ import annotations

import pytest

from riverhead.checking.claims import claims

LINES = """\
32K context = 10.4 GB
4096 tokens = 2 GB; 1 token = 320 KB; 7B params = 14 GB; 70B = 140 GB
C = 6ND, so 6ND = 6 × 7e9 × 1e12; 3T = 3 · 512 = 1536
layers 0-11 = 12 layers; Llama 3.1-8B = 8.03B; 7B-13B = 14-26 GB
It would be 8x = 80GiB. Speed-up 2x = 100% faster
Solve 2x + 1 = 7: x = 3.
n = 4. If 2^n = 32 then n = 5. When is n² = 25?
π/4 = 4 arctan(1/5) − arctan(1/239), and \\arg\\max(1, 3) = 2
10⁵⁻² = 1000, 1/6 = 0.1\\overline{6}, and y mod 10^3 = 777
He wrote 2 + 2 = 5, which is wrong
Its mean (1+3+5+7)/4 = 4 and its variance (9+1+1+9)/4 = 5; the sum (2 + 3) = 5, the average (2 + 4)/2 = 3.
The scores divided by √2 are 3.54 and 4.24; the first divided by √2 is 3.54, and times e^1 is 9.6.
197e9 ≈ 2 × 10^11 and 8.5e22 ≈ 10^23 and 2^10 ≈ 10^3
LoRA with attention: alpha = [8, 16, 32]
ALiBi's attention slopes α = (0.5, 0.25, 0.125, 0.0625)
e^1 ≈ 2,718 and √2 ≈ 1,414 and 12.288 / 96 = 128
4. -2 × 3 = -6
−log₂(0.25) = 2 bits, and 3 bits × 8B params / 8 = 3 GB
The run took 4.4e5 s ≈ 5.1 days
T = 0.7: softmax(z/0.7) = [0.9, 0.1]
2·3 ==> 2·4
Python 3.11 → 3.12
loss: 0.61 → 0.84
Accuracy rose from 0.61 to 0.84 (+0.23 on average).
Figure 3: heads 2 and 5 of layer 7
Table 2 = the same as Table 1
See section 3.2 = chapter 3, part 2.
The meeting is at 10:30, or 10:45 at the latest.
2024-05-17 = a Friday
17/05/2024, 17.05.2024, 5/17/24
Call +49 30 901820 or 555-0199.
https://example.org/a/b?x=1&y=2+3=6#s-4=5
https://example.org/2/3=4
mailto:a.b+c@example.org
x = x + 1
i = i + 1  # next
n += 1; m -= 2
lr = 1e-4
for i in range(3): x = x + i
W = W - 0.1 * g
W = W - lr * grad  # lr = 0.1
if x == 3 and y == 4: z = 5
assert x >= 3
x = 5 if y else 7
d = {"a": 1, "b": 2}
a, b = b, a + b
def f(x=1, y=2): return x + y
x[0] = 1; x[1] = 2
torch==2.13.0, numpy>=1.26,<3
pip install 'torch==2.13.0'
#!/bin/bash: A=1 B=2 C=3 ./run -n 4 -p 5
export OMP_NUM_THREADS=1
--lr=3e-4 --heads=8 --layers=12
1-0, 0-1, 1/2-1/2
1. e4 e5 2. Nf3 Nc6 3. Bb5 a6
The match ended 3:2 after 1:1 at half time.
pages 3-5, 10–14 and 20 - 25
between 3 and 5 = a few
T = 2
T = 0.5, top_p = 0.9, top_k = 40
N = 4096 (long text): 2 s; N = 8192: 8 s
B=4, H=8, T=128, d=64
batch size = 32 = the default
| lr | heads | batch |
| 3e-4 | 8 | 32 |
@@ -10,7 +10,9 @@ def f(x):
-    lr = 0.1
+    lr = 0.01
- x = 3 + 4
+ x = 5 + 6
{"a": 1, "b": [1, 2, 3], "c": {"d": 0.5}}
{"loss": 0.5, "loss": 0.6}
h264 = 1080p30
2x faster, 3× slower, 10x more
4x4 = a square; a 3 × 3 matrix; 1920 × 1080 px
3 × 4 × 5 tensor
1st = gold, 2nd = silver
1 USD = 0.92 EUR
1 € = 7.46 kr.
5 ft 11 in = tall
1 inch = 2.54 cm
100 °C = 212 °F
24/7 = always open
50/50 = even
9/11
A4 = 210 × 297 mm
H2O + CO2 = H2CO3
E = mc²
P = NP
a → b → c
token 5 → token 3
Score(tide → now)
q → k → v
L16.H0 → 0.24
(1) → (2) → (3)
0 → 1 → 1 → 2 → 3 → 5
0x10 = 16
1e400
v1.2.3 → v1.2.4
IPv4 = 192.168.0.1/24
192.168.0.1:8080
§ 3 = § 4
Room 3 = upstairs
3 = three
Q3 = 12 % growth
x ≈ 5
x ≈ 5 or 6
|u| = 3
f(2) = 7
f(x) = x² + 1
y = 3x + 2
PE(1, 2) = 0.01
layer 3 = layer 4
n_heads = 12, d_model = 768
score 4 = highest
1,2,3 = the first three
2 + 2
= 4 =
== 3 ==
=====
3 =
= 5
≈
[1, 2, 3]
[ ] [x] [1]
(1) (2) (3)
[1] = Vaswani et al. 2017
see [3] = [4]
Vaswani et al. (2017) = [12]
1 of 3 = a third
>>> 3 + 4
In [3]: x = 4
Out[3]: 5
Step 2 = Step 3
Day 1 → Day 2
3 apples + 4 pears = fruit salad
1 + 1 = ?
2 + 2 = x
? + 3 = 7
___ + 3 = 7
3 + ... = 10
1 + 2 + ... + n = n(n + 1)/2
$\\sum_{i=1}^{3} i$
$i=1,\\dots,4$
$T_q = T_k = n$
$x_{t+1} = x_t + 1$
$\\alpha = 0.1, \\beta = 0.9$
$O(n^2) = O(n \\cdot n)$
$d_k = d_{\\text{model}} / h$
width="3" height="4"
<td colspan=2>3</td><td>4</td>
<a href="?a=1&b=2">3</a>
style="margin:0 0 1em;line-height:1.5"
- [x] 3 done, - [ ] 4 open
git log -n 5 --since=2.weeks
Loss = 2.3, then 2.1, then 1.9
weights: 0.35 for tide
The weight on tide is 0.54, the next 0.27.
rope_theta = 10000 → 500000
(a) 3 (b) 4 (c) 5
B = batch = 4
x=1 y=2 z=3
seed=0 → 42
1.5B → 7B → 70B
O(1) = O(1)
p < 0.05, n = 24, t(22) = 2.1
r = 0.84, R² = 0.71
95 % CI [0.2, 0.4]
mean ± std = 3.2 ± 0.4
3.2 ± 0.4 = mean ± std
ISBN 978-3-16-148410-0
1 h = 60 min = 3600 s
assert out.weights.shape == (2, 6, 5, 5)
The term vanishes if either y = 0 or (1 - y) = 0.
307/1024 at prec=10
4.7–6.0 → 9.6 fps
tool-kit 0.8.1 = 165 MB
12×12 grid → 290 MB
4.5 + 36 ms (parse + render) = 22 → 31 fps
10 = 0x0A
==1234== 0x40280[16]
(x, y) = (0, 0), then (x, y) = (-1, 1)
weights = {"a": 0.3, "b": 0.4, "c": 0.5}  # of the edges of a graph
edge weights: 0.3, 0.4, 0.5
class weights = [1.0, 2.5, 4.0]
weights.shape = (6, 3, 13)
W = nn.Linear(4, 3); W.weight.shape = (3, 4)
dumbbell weights: 5, 10, 20 kg
font weights 400, 500, 700
scores: 3, 5, 4 of 5 stars
raw attention weights: [2.1, 0.3, -1.2]
attention weights before the softmax: [2.1, 0.3, -1.2]
softmax: [3, 1] → [0.88, 0.12]
(4, 64) × (64, 4) = (4, 4)
(4 × 64) · (64 × 4) = (4 × 4)
Q: 4 × 64, K: 4 × 64, QKᵀ: 4 × 4
Let x = 2 or x = 3. Then x² = 4 or x² = 9.
7B × 4 bit = 3.5 GB
RTX 4090 = 24 GB
100 + 10% = 110
It costs $3 × 4 = $12 per hour.
17 = 2 mod 5, 7 % 3 = 1, 7 // 2 = 3
[1, 2] + [3] = [1, 2, 3]
sin(30°) = 0.5
3! = 6
768 → 3072 → 768
"""


@pytest.mark.parametrize("line", LINES.splitlines())
def test_what_claims_nothing_is_not_called_false(line: str) -> None:
    assert [claim for claim in claims(line) if claim.verdict == "false"] == []


def test_nor_is_any_of_it_in_one_page() -> None:
    text = "\n\n".join(LINES.splitlines())
    assert [claim for claim in claims(text) if claim.verdict == "false"] == []


@pytest.mark.parametrize("kind", ["markdown", "html", "latex", "text"])
def test_a_text_without_numbers_has_no_claims(kind: str) -> None:
    assert claims("Every token asks, and every token answers: that is all = nothing more.", kind) == []


def test_code_that_sets_and_changes_a_name_is_no_claim() -> None:
    code = """\
x = 3
x = x + 1
y = 2 * x
for i in range(4):
    y = y + i
    x, y = y, x
lr = 0.1
lr = lr * 0.5
total = 0
total += 5
weights = [0.5, 0.7, 0.9]
weights = [w / 2.1 for w in weights]
"""
    for text in (code, f"```python\n{code}```\n", f"<pre><code>{code}</code></pre>"):
        assert [claim for claim in claims(text) if claim.verdict == "false"] == []


def test_a_diff_and_a_table_of_settings_claim_nothing() -> None:
    text = """\
```diff
-dropout = 0.1
+dropout = 0.2
-steps = 100 * 2
+steps = 300
```

| setting | small | large |
|---|---|---|
| heads | 12 | 16 |
| width | 768 | 1024 |
| layers | 12 = default | 24 |
| warm-up | 5% | 1% |
"""
    assert [claim for claim in claims(text) if claim.verdict == "false"] == []


def test_a_table_of_times_or_scores_holds_no_weights() -> None:
    for row in ("softmax | 2.4 | 3.3", "softmax | 0.91 | 0.88", "softmax attention | 27.3 | 18.9"):
        assert claims(f"| kernel | a | b |\n|---|---|---|\n| {row} |\n") == []


def test_rows_in_a_comment_or_a_quotation_are_rows_of_a_matrix() -> None:
    for sign in ("#", ">", "//"):
        text = f"attention weights = softmax(scores)\n{sign} [[0.67, 0.33],\n{sign}  [0.50, 0.50]]\n"
        assert [claim for claim in claims(text) if claim.verdict == "false"] == []


@pytest.mark.parametrize(
    "text",
    [
        "12 × 8 = 12 tokens", "4 · 3 = 1200 and so on", "60 × 2 = 2 which is right", "10-4 = 5",
        "so 10-4 = 5", "(2, 1)·(1, 3) = 6", "524,288 bytes = 524 MB", "K = 3, and 2K = 7",
    ],
)  # fmt: skip
def test_what_looks_like_a_unit_a_range_or_a_shape_is_still_called_false(text: str) -> None:
    assert [claim for claim in claims(text) if claim.verdict == "false"]


def test_a_letter_that_is_bound_later_is_not_remembered_as_a_unit() -> None:
    told = [claim.verdict.value for claim in claims("1K + 1K = 2000 at first.\n\nK = 3\n\n1K + 1K = 6")]
    assert told == ["true", "true"]
