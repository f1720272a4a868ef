"""Probabilities of a row from a model.json, by the formulas of docs/model_format.md alone.

Written from that page, with the standard library, and with nothing from tamis: it shows that the
page suffices. Names and the order of the parts are those of the page.
"""

import hashlib
import json
import re
import struct
from base64 import b64decode
from decimal import Decimal
from math import atan, exp, inf, isnan, log, nan, pi, sqrt


def read(path):
    """The document of a file, after a check of its digest."""
    document = json.loads(path.read_text(encoding="utf-8"))
    digest = document.pop("digest")
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    assert digest == "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()
    return unpacked(document)


def unpacked(value):
    if isinstance(value, list):
        return [unpacked(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "base64" in value:
        rows, *columns = value["shape"]
        codes = {"float64": "d", "float32": "f", "int64": "q", "int32": "i", "bool": "?"}
        codes |= {"int16": "h", "int8": "b"}
        width = columns[0] if columns else 1
        flat = struct.unpack(
            f"<{rows * width}{codes[value['$array']]}", b64decode(value["base64"])
        )
        if not columns:
            return list(flat)
        return [list(flat[i * width : (i + 1) * width]) for i in range(rows)]
    if "$array" in value and "of" in value:
        rows = unpacked(value["of"])
        return [rows[i] for i in unpacked(value["at"])]
    return {key: unpacked(item) for key, item in value.items()}


def probabilities(document, row):
    """Probabilities in the order of the classes; `row` is a dict by the names of the columns."""
    record = document["record"]
    if document["model"] != "TableModel":
        return classify(document["model"], record, [row[name] for name in record["feature_names"]])
    inner = record["estimator"]
    x = prepared(record["preparation"], row, not inner["model"].startswith("DatumWise"))
    P = normalised([p ** (1 / record["temperature"]) for p in classify(inner["model"], inner, x)])
    if record["recalibration"] is not None:
        site = record["recalibration"]
        pairs = zip(P, site["intercept"], strict=True)
        P = softmax([log(p) / site["temperature"] + b for p, b in pairs])
    return P


def normalised(values):
    return [value / sum(values) for value in values]


def softmax(D):
    return normalised([exp(d - max(D)) for d in D])


def prepared(preparation, row, fill):
    x = []
    for column in preparation["columns"]:
        value, kind = row[column["name"]], column["kind"]
        missing = value is None
        if kind == "number":
            x.append((column["fill"] if fill else nan) if missing else value)
        elif kind == "category":
            missing = missing or treated_as(column, value) == "missing"
            value = column["fill"] if missing and fill else value
            unknown = missing and not fill
            x += [nan if unknown else 1.0 * (value == one) for one in column["categories"]]
        else:
            x += counts(column, "" if missing else value)
    return x


def treated_as(column, value):
    if value in column["rare"]:
        return column["rare_as"]
    is_known = value in column["categories"] or value in column["others"]
    return "known" if is_known else column["new_as"]


def counts(column, text):
    words = re.findall(r"\b\w\w+\b", text.lower())
    low, high = column["ngrams"]
    found = [
        " ".join(words[i : i + n]) for n in range(low, high + 1) for i in range(len(words) - n + 1)
    ]
    if column["vectorizer"] == "hashing":
        found = [f"#{abs(murmur(word.encode())) % 262_144}" for word in found]
    n = [found.count(word) for word in column["words"]]
    if column["vectorizer"] != "tfidf":
        return n
    return [(1 + log(k)) * idf if k else 0.0 for k, idf in zip(n, column["idf"], strict=True)]


def murmur(data):
    """MurmurHash3, 32 bits, signed, seed 0."""
    mask, h = 0xFFFFFFFF, 0

    def rotate(k, r):
        return (k << r | k >> 32 - r) & mask

    for i in range(0, len(data), 4):
        block = data[i : i + 4]
        k = rotate(int.from_bytes(block, "little") * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask
        h ^= k
        if len(block) == 4:
            h = rotate(h, 13) * 5 + 0xE6546B64 & mask
    h ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        h = (h ^ h >> shift) * factor & mask
    h ^= h >> 16
    return h - 2**32 if h & 2**31 else h


def classify(name, r, x):
    if name.startswith("SparseCenter"):
        return softmax(centers(r, x))
    if name.startswith("PrimalDual"):
        return softmax(primal_dual(r, x))
    if name.startswith("Panel"):
        return softmax(panel(r, x))
    if name.startswith("DatumWise"):
        policy = r["policy"]
        walk = forest_policy if policy["kind"] == "forest" else linear_policy
        return softmax(walk(r, policy, x))
    if name == "LandmarkClassifier":
        return landmarks(r, x)
    x, votes = [x[i] for i in r["features"]], [0.0] * len(r["classes"])
    for member in r["members"]:
        P = landmarks({**member, "classes": r["classes"]}, x)
        if r["vote"] == "majority":
            P = [1.0 * (c == P.index(max(P))) for c in range(len(P))]
        votes = [v + member["weight"] * p for v, p in zip(votes, P, strict=True)]
    return normalised(votes)


def centers(r, x):
    scale, d, F, origin = r["scale"], r["dispersion"], r["features"], r["origin"]
    if r["other_units"] is not None:
        u = r["other_units"]
        x, scale = [v / unit for v, unit in zip(x, u["unit"], strict=True)], u["scale"]
        d = d / u["reference"] / (u["reference"] if r["metric"] == "l2" else 1)
    theta = r["class_centers"]
    if r["covariance"] is not None:
        cov = r["covariance"]
        z = [(x[i] - origin[i] - r["common_center"][i]) / scale[i] for i in F]
        x = [v / cov["rest"] for v in z]
        for V, root in zip(zip(*cov["vectors"], strict=True), cov["roots"], strict=True):
            along = sum(map(lambda a, b: a * b, V, z)) * (1 / root - 1 / cov["rest"])
            x = [v + along * a for v, a in zip(x, V, strict=True)]
        theta, F = cov["centers"], cov["selected"]
        origin, scale = [0.0] * len(x), [1.0] * len(x)
    D = []
    for c, prior in zip(theta, map(float, r["log_priors"]), strict=True):
        if r["metric"] == "l2":
            away = sum(((x[i] - origin[i] - c[i]) / scale[i]) ** 2 for i in F) / 2
        else:
            away = sum(abs(x[i] - c[i]) / scale[i] for i in F)
        D.append((prior - away / d) / r["temperature"])
    return D


def primal_dual(r, x):
    z = [(x[i] - r["mean"][i]) / float(r["scale"][i]) for i in r["features"]]
    if r["head"] != "projection":
        pairs = zip(r["head_coef"], r["head_intercept"], strict=True)
        return [(sum(map(lambda a, b: a * b, w, z)) + b) / r["temperature"] for w, b in pairs]
    p = [sum(map(lambda a, b: a * b, w, z)) for w in zip(*r["weights"], strict=True)]
    D = []
    for mu in r["centers"]:
        if r["distance"] == "l1":
            D.append(-sum(abs(a - b) for a, b in zip(p, mu, strict=True)) / r["dispersion"])
        else:
            square = sum((a - b) ** 2 for a, b in zip(p, mu, strict=True))
            D.append(-square / (2 * r["dispersion"] ** 2))
    return [d / r["temperature"] for d in D]


def panel(r, x):
    x = [x[i] for i in r["features"]]
    if r["head"] == "kernel":
        z = [(v - c) / s for v, c, s in zip(x, r["center"], r["scale"], strict=True)]
        k = [
            exp(-r["width"] * sum((a - b) ** 2 for a, b in zip(z, one, strict=True)))
            for one in r["landmarks"]
        ]
        D = [sum(map(lambda a, b: a * b, k, coef)) for coef in zip(*r["coef"], strict=True)]
    else:
        pairs = zip(r["coef"], r["intercept"], strict=True)
        D = [sum(map(lambda a, b: a * b, coef, x)) + b for coef, b in pairs]
    return [d / r["temperature"] for d in D]


def scaled(s, x):
    if s["scaling"] is None:
        return x
    if s["scaling"] == "quantile":
        return [
            share(v, q, s["at"]) for v, q in zip(x, zip(*s["quantiles"], strict=True), strict=True)
        ]
    if s["scaling"] == "yeo-johnson":
        shaped = []
        for v, power in zip(x, s["powers"], strict=True):
            q, size = (power if v >= 0 else 2 - power), log(1 + abs(v))
            shaped.append(
                ((exp(q * size) - 1) / q if abs(q) > 1e-12 else size) * (1 if v >= 0 else -1)
            )
        x = shaped
    shift = s.get("shift", [0.0] * len(x))
    return [(v - b) / a for v, b, a in zip(x, shift, s["scale"], strict=True)]


def share(v, quantiles, at):
    equal = [at[k] for k, q in enumerate(quantiles) if q == v]
    if equal:
        return (equal[0] + equal[-1]) / 2
    below = sum(q < v for q in quantiles)
    if below in (0, len(quantiles)):
        return at[0] if below == 0 else at[-1]
    low, high = quantiles[below - 1], quantiles[below]
    return at[below - 1] + (at[below] - at[below - 1]) * (v - low) / (high - low)


def distance(a, b, kind):
    if kind == "angle":
        a, b = ([v / (sqrt(sum(w * w for w in one)) or 1) for v in one] for one in (a, b))
    near = sqrt(sum((v - w) ** 2 for v, w in zip(a, b, strict=True)))
    if kind == "euclidean":
        return short(near)
    far = sqrt(sum((v + w) ** 2 for v, w in zip(a, b, strict=True)))
    return 0.0 if near <= 1e-15 else 2 * atan(short(near / far)) if far else pi


def short(d):
    s = 4097 * d
    return s - (s - d)


def landmarks(r, x):
    x, head, z = scaled(r["scaling"], x), r["head"], []
    for point, sigma in zip(r["landmarks"], r["sigma"], strict=True):
        d = distance(x, point, r["distance"])
        ratio = 0.0 if d == 0 else d / sigma if sigma else inf
        z.append(
            {
                "linear": lambda d=d: d,
                "gaussian": lambda ratio=ratio: exp(-ratio),
                "sigmoid": lambda d=d, sigma=sigma: 1 / (1 + exp(sigma - d)),
                "cauchy": lambda ratio=ratio: 1 / (1 + ratio),
            }[r["kernel"]]()
        )
    if head["classifier"] == "knn":
        ranked = [(distance(z, one, head["metric"]), i) for i, one in enumerate(head["map"])]
        votes = [0.0] * len(r["classes"])
        ranked = sorted(ranked)[: head["n_neighbors"]]
        for d, i in ranked:
            c, weight = head["codes"][i], 1.0
            if head["weights"] == "distance":
                weight = 1.0 * (d == 0) if ranked[0][0] == 0 else 1 / d
            votes[c] += weight * head["class_weight"][c]
        return normalised(votes)
    D = []
    if head["classifier"] == "nb":
        for m, v, prior in zip(head["means"], head["variances"], head["log_prior"], strict=True):
            terms = zip(z, m, v, strict=True)
            D.append(
                float(prior) - sum(log(2 * pi * c) + (a - b) ** 2 / c for a, b, c in terms) / 2
            )
    else:
        columns = zip(zip(*head["coefficients"], strict=True), head["intercepts"], strict=True)
        for w, b in columns:
            D.append((sum(map(lambda a, c: a * c, z, w)) + float(b)) / head["temperature"])
    return softmax(D)


def missing_blocks(r, policy, x):
    block_of = r["process"]["block_of"]
    there = {block_of[j] for j in policy["columns"] if not isnan(x[j])}
    return [block not in there for block in policy["blocks"]]


def forest_policy(r, policy, x):
    missing, values = missing_blocks(r, policy, x), [x[j] for j in policy["columns"]]
    at, useful, D = 0, True, None
    while True:
        stage = policy["stages"][at]
        forest = r["forests"][stage["forest"]]
        L, cells = ask(forest, values)
        if useful:
            D = [value - max(L) for value in L]
        rule = stage["rule"]
        if rule["kind"] == "stop" or not stage["targets"]:
            break
        costs = list(map(float, stage["means"]))
        if stage["table"] is not None:
            lines = [stage["table"][stage["row_of"][cell]] for cell in cells]
            costs = [sum(map(float, line)) / len(lines) for line in zip(*lines, strict=True)]
        vain = [all(missing[b] for b in new) for new in stage["new"]]
        for move, new in enumerate(stage["new"]):
            costs[move] -= policy["cost_weight"] * sum(
                policy["costs"][b] for b in new if missing[b]
            )
            if vain[move] and not all(vain):
                costs[move] = inf
        P = softmax(D)
        stopping = (1 - max(P)) / sum(
            p / c for p, c in zip(P, policy["class_losses"], strict=True)
        )
        move = costs.index(min(costs))
        if rule["kind"] == "local":
            stop = stopping <= costs[move]
        else:
            stop = rule["kind"] == "threshold" and stopping <= float(rule["at"])
            move = move if costs[rule["move"]] == inf else rule["move"]
        if stop:
            break
        at, useful = stage["targets"][move], not vain[move]
    return [d / policy["temperature"] for d in D]


def ask(forest, values):
    trees = forest["trees"]
    if trees is None:
        return [log(max(p, 0.001)) for p in forest["prior"]], []
    leaves, cells = [], []
    for node in trees["offsets"][:-1]:
        way = [node]
        while trees["feature"][node] >= 0:
            value, first = values[trees["feature"][node]], trees["first_child"][node]
            goes_first = (
                trees["missing_first"][node]
                if isnan(value)
                else value <= float(trees["threshold"][node])
            )
            node = first if goes_first else first + 1
            way.append(node)
        leaves.append(node)
        coarse = [
            v for v in way if trees["feature"][v] < 0 or trees["n_rows"][v] < forest["coarse"]
        ]
        cells.append(coarse[0])
    shares = zip(*(trees["shares"][leaf] for leaf in leaves), strict=True)
    shares = [sum(share) / len(leaves) for share in shares]
    return [log(max(share, 0.001)) / forest["temperature"] for share in shares], cells


def linear_policy(r, policy, x):
    C, scores = len(r["classes"]), list(policy["bias"])
    missing = missing_blocks(r, policy, x)

    def ask_for(block):
        for j, of in enumerate(policy["block_of"]):
            value = x[policy["columns"][j]]
            if of == block and not isnan(value):
                s0, s1, s2 = (line[j] for line in policy["scaling"])
                v = min(max((value / 4 - s0) / s1 - s2, -1e6), 1e6)
                for k in range(len(scores)):
                    scores[k] += policy["for_known"][j][k] + v * policy["for_value"][j][k]

    if policy["chain"] and not any(isnan(x[j]) for j in policy["columns"]):
        for block, score in zip(policy["chain"], policy["chain_scores"], strict=True):
            if max(scores[:C]) >= score:
                break
            ask_for(block)
    else:
        asked, paid = set(), Decimal(0)
        costs = [Decimal(repr(cost)) for cost in policy["costs"]]
        while len(asked) < policy["max_blocks"]:
            budget = Decimal(repr(float(policy["max_cost"])))
            usable = [
                b
                for b in range(len(costs))
                if not missing[b] and b not in asked and paid + costs[b] <= budget
            ]
            best = max(usable, key=lambda b: scores[C + b], default=None)
            if best is None or scores[C + best] <= max(scores[:C]):
                break
            ask_for(best)
            asked.add(best)
            paid += costs[best]
    return [(score - max(scores[:C])) / policy["temperature"] for score in scores[:C]]
