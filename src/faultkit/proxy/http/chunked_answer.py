"""A short way for answers that come in whole chunks and go through filters, as the streams of models do.

Between two chunks neither the framer nor the rewriting of the answer keeps anything. A read that is nothing
but whole chunks then needs no framer, and no event: filters get its content. Everything else is left to
`exchange`, which is fed the bytes as an event.
"""

from __future__ import annotations

from faultkit.proxy.http.answer_rewrite import TextsOfChunks, texts_of_chunks
from faultkit.proxy.http.request_order import RequestOrder
from faultkit.proxy.http.response_order import Output


class ChunkedAnswer(RequestOrder):
    """The state of one client connection, with the short way."""

    __slots__ = ()

    @property
    def rewrites(self) -> bool:
        """Whether the answer at hand goes through filters."""
        return bool(self._turns) and self._turns[0].rewrite is not None

    def take_chunks(
        self, data: bytes, at: float, texts_of: TextsOfChunks = texts_of_chunks
    ) -> bytes | list[Output] | None:
        """Take what the upstream has sent if it is nothing but whole chunks of an answer that goes through
        filters: a short way for streams. Return the same bytes if they pass as they are and at once,
        otherwise the outputs; None if nothing was taken, so that `data` is to be fed as an event."""
        rewrite = self._chunked
        if rewrite is None:
            if self._closed or self._hanging or not self.rewrites or not self._responses.is_between_chunks:
                return None
            rewrite = self._turns[0].rewrite
            if rewrite is None or not rewrite.is_between_chunks:
                return None
            self._chunked = rewrite
        if at < self._client_at:
            return None
        taken = rewrite.take_chunks(data, at, texts_of)
        if taken is None or isinstance(taken, bytes):
            return taken
        out = self._at(at)
        self._write(taken)
        return out
