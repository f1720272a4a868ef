import numpy as np
import pytest

from tamis.primal_dual._active_set import Block, add_violators, walk_on_face


class Model:
    """Least squares for one or more classes in the l1 ball, at a point with given signs."""

    def __init__(self, seed, n_classes=2, n_free=5, adaptive=True):
        rng = np.random.default_rng(seed)
        n, self.rho = 30, 0.7
        self.codes = np.arange(n) % n_classes
        Y = (self.codes[:, None] == np.arange(n_classes)).astype(float)
        self.parts, self.starts, self.slopes, self.signs, self.blocks = [], [], [], [], []
        for _ in range(n_classes):
            columns, roots = rng.normal(size=(n_free, n)), rng.uniform(0, 1, n)
            signs = rng.choice([-1.0, 1.0], n_free)
            W = signs * rng.uniform(0, 0.2, n_free) * (rng.random(n_free) < 0.7)
            whole = np.concatenate([columns, -Y.T]) if adaptive else columns
            hessian = (whole * roots**2) @ whole.T
            hessian[range(n_free, len(whole)), range(n_free, len(whole))] += self.rho
            gradient = rng.normal(size=len(whole))
            self.parts.append(hessian)
            self.starts.append(np.concatenate([W, np.zeros(len(whole) - n_free)]))
            self.slopes.append(gradient)
            self.signs.append(signs)
            indicator = Y if adaptive else None
            block = Block(
                columns.copy(), roots.copy(), indicator, self.rho, W, signs, gradient, 0.0
            )
            self.blocks.append(block)
        self.n_free = n_free

    def norm(self, points):
        return sum(np.abs(point[: self.n_free]).sum() for point in points)

    def gradients(self):
        return [
            slope + hessian @ (block.W - start)
            for slope, hessian, block, start in zip(
                self.slopes, self.parts, self.blocks, self.starts, strict=True
            )
        ]

    def fall(self):
        moves = [b.W - s for b, s in zip(self.blocks, self.starts, strict=True)]
        return -sum(
            g @ m + 0.5 * m @ H @ m for g, m, H in zip(self.slopes, moves, self.parts, strict=True)
        )


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("room", [0.0, 0.1, 10.0])
@pytest.mark.parametrize("seed", range(8))
def test_the_walk_ends_at_the_optimum_over_the_entries_that_are_left(seed, room, adaptive):
    model = Model(seed, adaptive=adaptive)
    radius = model.norm(model.starts) + room
    assert walk_on_face(model.blocks, room)
    points = [block.W for block in model.blocks]
    assert model.fall() > 0
    assert model.norm(points) <= radius * (1 + 1e-12) + 1e-12
    multipliers = []
    for signs, point, gradient in zip(model.signs, points, model.gradients(), strict=True):
        assert (point[: model.n_free] * signs >= 0).all()
        np.testing.assert_allclose(gradient[model.n_free :], 0.0, atol=1e-9)  # the centers
        used = np.flatnonzero(point[: model.n_free])
        multipliers.extend(-gradient[used] * signs[used])
    # One multiplier for all: 0 inside, not negative on the sphere.
    inside = model.norm(points) < radius - 1e-9
    np.testing.assert_allclose(multipliers, 0.0 if inside else multipliers[0], atol=1e-9)
    assert min(multipliers) >= -1e-9


def test_a_singular_system_is_reported():
    columns, roots = np.zeros((2, 5)), np.ones(5)
    block = Block(columns, roots, None, 0.0, np.zeros(2), np.ones(2), np.ones(2), 0.0)
    assert not walk_on_face([block], 1.0)


def test_the_largest_violators_join_the_face():
    W = np.array([[0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    G = np.array([[1.0, 0.9, -7.0, 6.0, 5.0, -4.0, 3.0]])
    assert add_violators(W, G).tolist() == [[1.0, 0.0, -1.0, 1.0, 1.0, -1.0, 0.0]]
    assert add_violators(W, G / 10 + W).tolist()[0][1] == 0.0
