"""Checks the models of a directory, see export.h, and runs them in onnxruntime: its values are
ours to 1e-5 of the largest."""
import glob, os, sys
import numpy as np, onnx, onnxruntime
name, directory = sys.argv[1:3]
onnxruntime.set_default_logger_severity(4)
bad = compared = 0
for path in sorted(glob.glob(directory + "/*.onnx")):
    try:
        onnx.checker.check_model(onnx.load(path), full_check=True)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        for rows in glob.glob(path[:-5] + "/") + glob.glob(path[:-5] + ".?/"):
            given = {x.name: np.load(f"{rows}/{x.name}.npy").astype(np.float32)
                     for x in session.get_inputs()}
            theirs, = session.run(None, given)
            ours = np.load(rows + "/is.npy")
            assert theirs.shape == ours.shape, f"their shape is {theirs.shape}, ours {ours.shape}"
            most = max(1, np.abs(ours[np.isfinite(ours)]).max(initial=0))
            same = np.isclose(theirs, ours, 0, 1e-5 * most, equal_nan=True)
            assert same.all(), f"theirs {theirs[~same][:3]}, ours {ours[~same][:3]}"
            compared += 1
    except Exception as e:
        bad += 1
        if bad < 6:
            text = open(path[:-5] + ".txt").read().strip()
            print(f"not ok {name}: {text[:300]}: {str(e)[:300]}".replace("\n", " "))
if not bad and compared:
    print(f"ok {name}: {compared} compared")
sys.exit(bad > 0 or not compared)
