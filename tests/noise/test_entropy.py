from __future__ import annotations

import copy
import os
import pickle
import threading
import warnings
from collections.abc import Callable

import numpy as np
import pytest

from holdfast.errors import InvalidParameter
from holdfast.noise import Secure, Seeded, Source, discrete_gaussian, discrete_laplace, entropy
from holdfast.noise.entropy import resolve

WORDS = 2000


def _in_child(work: Callable[[], bytes]) -> bytes:
    """Run `work` in a real forked child and return what it wrote."""
    read_end, write_end = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking next to the test runner's own threads
        child = os.fork()
    if child == 0:
        try:
            os.close(read_end)
            with os.fdopen(write_end, "wb") as out:
                out.write(work())
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as reply:
        data = reply.read()
    os.waitpid(child, 0)
    return data


def _words() -> bytes:
    return np.array([Secure().word() for _ in range(WORDS)], dtype=np.uint64).tobytes()


def _set(data: bytes) -> set[int]:
    return set(np.frombuffer(data, dtype=np.uint64).tolist())


def test_forked_children_and_parent_share_no_noise() -> None:
    Secure().word()  # the buffer now holds words that a child would inherit
    assert entropy._buffer.words
    children = [_set(_in_child(_words)) for _ in range(2)]
    parent = _set(_words())
    assert [len(s) for s in (*children, parent)] == [WORDS] * 3
    assert not children[0] & children[1]
    assert not (children[0] | children[1]) & parent


def test_that_test_would_notice_a_kept_buffer() -> None:
    Secure().word()
    kept = entropy._buffer

    def without_the_hook() -> bytes:
        entropy._buffer = kept
        return _words()

    first, second = (_set(_in_child(without_the_hook)) for _ in range(2))
    assert first & second


def test_fork_drops_the_parents_buffer_too() -> None:
    Secure().word()
    before = set(entropy._buffer.words)
    _in_child(lambda: b"")
    assert before
    assert not entropy._buffer.words


def test_forked_children_draw_different_noise() -> None:
    discrete_laplace(10**6)

    def noise() -> bytes:
        draws = [discrete_laplace(10**6) for _ in range(50)] + [discrete_gaussian(10**6) for _ in range(50)]
        return np.array(draws, dtype=np.int64).tobytes()

    a, b = (np.frombuffer(_in_child(noise), dtype=np.int64) for _ in range(2))
    assert (a == b).mean() < 0.1


def test_threads_share_no_words_and_no_buffer() -> None:
    found: list[set[int]] = []
    buffers: list[int] = []
    barrier = threading.Barrier(2)

    def work() -> None:
        barrier.wait()
        words = {Secure().word() for _ in range(WORDS)}
        buffers.append(id(entropy._buffer.words))
        words |= set(Secure().words(WORDS).tolist())
        barrier.wait()
        found.append(words)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    assert len(found[0]) == len(found[1]) == 2 * WORDS
    assert not found[0] & found[1]
    assert buffers[0] != buffers[1]
    assert id(entropy._buffer.words) not in buffers


@pytest.mark.parametrize("bad", [{"seed": 1}, {"anything": None}])
def test_secure_refuses_a_seed(bad: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter, match="no seed"):
        Secure(**bad)
    with pytest.raises(InvalidParameter, match="no seed"):
        Secure(1)


def test_secure_has_nothing_to_show_or_store() -> None:
    Secure().word()
    waiting = {str(word) for word in entropy._buffer.words}
    assert repr(Secure()) == "Secure()"
    stored = pickle.dumps(Secure())
    assert len(stored) < 100
    assert isinstance(pickle.loads(stored), Secure)
    assert isinstance(copy.deepcopy(Secure()), Secure)
    assert not hasattr(Secure(), "__dict__")
    assert not any(word in repr(vars(type(Secure()))) for word in waiting)
    assert Secure.secure
    assert not Seeded.secure


def test_secure_words_do_not_repeat_and_look_uniform() -> None:
    words = Secure().words(100_000)
    assert np.unique(words).size == words.size
    ones = np.unpackbits(words.view(np.uint8)).mean()
    assert abs(ones - 0.5) < 5 * 0.5 / np.sqrt(6_400_000)


def test_seeded_is_reproducible_and_copies_repeat() -> None:
    assert Seeded(3).words(5).tolist() == Seeded(3).words(5).tolist() != Seeded(4).words(5).tolist()
    assert discrete_gaussian(9, 50, source=Seeded(8)).tolist() == discrete_gaussian(9, 50, source=Seeded(8)).tolist()
    source = Seeded(5)
    source.word()
    twin = pickle.loads(pickle.dumps(source))
    other, shallow = copy.deepcopy(source), copy.copy(source)
    expected = [source.word() for _ in range(400)]
    for same in (twin, other, shallow):
        assert [same.word() for _ in range(400)] == expected


def test_a_buffer_emptied_by_a_signal_handler_is_filled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler that draws while the buffer is filled leaves nothing: the next look finds it empty and fills again."""
    entropy._buffer.words.clear()
    fetched = [np.array([], dtype=np.uint64), np.array([7], dtype=np.uint64)]
    monkeypatch.setattr(Secure, "words", lambda self, count: fetched.pop(0))
    assert Secure().word() == 7


@pytest.mark.parametrize("seed", [-1, 1.5, "a", None, True])
def test_seeded_wants_a_whole_seed(seed: object) -> None:
    with pytest.raises(InvalidParameter, match="seed"):
        Seeded(seed)  # type: ignore[arg-type]


def test_sources_are_checked() -> None:
    assert isinstance(resolve(None), Secure)
    with pytest.raises(InvalidParameter, match="source"):
        discrete_laplace(1, source=42)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="abstract"):
        Source()  # type: ignore[abstract]


@pytest.mark.parametrize("source", [Secure(), Seeded(1)])
def test_shapes(source: Source) -> None:
    for count in (0, 1, 3, 4, 5):
        assert source.words(count).shape == (count,)
        assert source.shorts(count).shape == (count,)


def test_a_seeded_source_continues_from_its_state() -> None:
    import json

    source = Seeded(5)
    for used in (0, 1, 300):
        for _ in range(used):
            source.word()
        source.words(7)
        twin = Seeded.from_state(json.loads(json.dumps(source.state())))
        assert [twin.word() for _ in range(600)] == [source.word() for _ in range(600)]
        assert twin.words(5).tolist() == source.words(5).tolist()
        assert twin.state() == source.state()
    for wrong in ({}, {"seed": 1}, source.state() | {"words": None}, source.state() | {"state": "x"}):
        with pytest.raises(InvalidParameter):
            Seeded.from_state(wrong)
