"""Trains the Dense network of the guides on MNIST in Keras, and prints the accuracy and the time of fit.

keras_mnist.py MNIST_FOLDER POLICY
"""

import gzip
import os
import pathlib
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np

EPOCHS, BATCH = 5, 128


def read(path, header):
    return np.frombuffer(gzip.open(path).read(), np.uint8, offset=header)


folder, policy = pathlib.Path(sys.argv[1]), sys.argv[2]
keras.mixed_precision.set_global_policy(policy)
keras.utils.set_random_seed(1)
sets = [
    (
        read(folder / f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 784).astype("float32") / 255,
        read(folder / f"{part}-labels-idx1-ubyte.gz", 8).astype("int64"),
    )
    for part in ("train", "t10k")
]
layers = keras.layers
model = keras.Sequential(
    [
        layers.Input((784,)),
        layers.Dense(64, "relu"),
        layers.Dense(64, "relu"),
        layers.Dense(10),
        layers.Activation("softmax", dtype="float32"),
    ]
)
model.compile(loss="sparse_categorical_crossentropy", optimizer=keras.optimizers.RMSprop(), metrics=["accuracy"])
start = time.perf_counter()
model.fit(*sets[0], batch_size=BATCH, epochs=EPOCHS, verbose=0)
seconds = time.perf_counter() - start
print(f"{policy}: test accuracy {model.evaluate(*sets[1], verbose=0)[1]:.4f}, fit {seconds:.2f} s")
