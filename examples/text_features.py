"""Make a vector of each document in S3 (hashed character trigrams), and find which documents are most alike.

$ python -m examples.text_features
6 documents, 256 features each
most alike: examples/documents/fox-again.txt and examples/documents/fox.txt, cosine 0.90
"""

from __future__ import annotations

import itertools
import math
import zlib

import bellwren

FEATURES = 256
DOCUMENTS = {
    "fox.txt": "The quick brown fox jumps over the lazy dog.",
    "fox-again.txt": "A quick brown fox jumped over the lazy dog.",
    "lorem.txt": "Lorem ipsum dolor sit amet, consectetur adipiscing elit.",
    "owl.txt": "The Owl and the Pussy-cat went to sea in a beautiful pea-green boat.",
    "sonnet.txt": "Shall I compare thee to a summer's day? Thou art more lovely and more temperate.",
    "raven.txt": "Once upon a midnight dreary, while I pondered, weak and weary.",
}


def features(document: tuple[str, bytes]) -> tuple[str, list[float]]:
    """Key and vector of an object. Of length 1, so that the cosine of two is their dot product."""
    key, body = document
    text = " ".join(body.decode().lower().split())
    vector = [0.0] * FEATURES
    for at in range(len(text) - 2):
        vector[zlib.crc32(text[at : at + 3].encode()) % FEATURES] += 1
    length = math.hypot(*vector)
    return key, [value / length for value in vector]


def main() -> None:
    cloud = bellwren.connect()
    for name, text in DOCUMENTS.items():
        cloud.data_store.put(f"examples/documents/{name}", text.encode())

    documents = bellwren.objects(f"s3://{cloud.deployment.data_bucket}/examples/documents/")
    vectors = cloud.map(features, documents).result()

    def alike(pair: tuple[tuple[str, list[float]], ...]) -> float:
        (_, one), (_, other) = pair
        return sum(a * b for a, b in zip(one, other, strict=True))

    first, second = max(itertools.combinations(vectors, 2), key=alike)
    print(f"{len(vectors)} documents, {FEATURES} features each")
    print(f"most alike: {first[0]} and {second[0]}, cosine {alike((first, second)):.2f}")


if __name__ == "__main__":
    main()
