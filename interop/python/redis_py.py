"""One process with redis-py's Lock, with its default settings but for a lease, on the port that the first argument
names. It takes the request `contend` of messages.ts."""

import json
import os
import sys
import time

import redis

# Without a lease redis-py's lock stays for ever when its owner dies.
LEASE_S = 10


def now_ms():
    return int(time.time() * 1000)


def contend(client, request):
    if request["request"] != "contend":
        raise ValueError(f"unknown request {request['request']}")
    who = request["who"]
    journal = os.open(request["journal"], os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o644)
    waits_ms = []
    end = time.monotonic() + request["durationMs"] / 1000
    while time.monotonic() < end:
        lock = client.lock(request["name"], timeout=LEASE_S)
        began = time.monotonic()
        # Not past the end: who polls may never be let in, and the test wants to know.
        if not lock.acquire(blocking_timeout=max(0, end - began)):
            break
        waits_ms.append(round((time.monotonic() - began) * 1000, 1))
        os.write(journal, f"enter {who} {now_ms()} 0\n".encode())
        time.sleep(request["sectionMs"] / 1000)
        os.write(journal, f"leave {who} {now_ms()} 0\n".encode())
        lock.release()
        time.sleep(request["pauseMs"] / 1000)
    os.close(journal)
    return {"turns": len(waits_ms), "waitsMs": waits_ms}


def say(line):
    print(json.dumps(line), flush=True)


def main():
    client = redis.Redis(host="127.0.0.1", port=int(sys.argv[1]))
    client.ping()
    say({"ready": True})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            say({"id": request["id"], **contend(client, request)})
        except Exception as error:  # The test is told whatever it is.
            say({"id": request["id"], "error": repr(error)})


main()
