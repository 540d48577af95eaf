#!/usr/bin/env python3
"""An ACP agent that misbehaves on request; standard library only.

Arguments say how it behaves as a process and in the handshake (name or name=value, see `OPTIONS`). A prompt is a
script, one step a line, that says what happens in its turn (see `Turn.steps`).
"""
import json, os, signal, subprocess, sys, time

sys.dont_write_bytecode = True
import mcp_client

OPTIONS = """
exit=N                 exit with N before reading anything
exit-after=METHOD:N    exit with N on the first request of that method
stderr=TEXT            write TEXT on stderr first
silent                 never answer
silent-on=METHOD       never answer that method
version=N              answer with that protocol version
no-session-id          answer session/new without an id
session=ID             the id that session/new gives
error-on=METHOD:CODE:TEXT   answer that method with an error
able=A,B               load, resume, close, list, image, http (MCP servers over it)
replay=TEXT            what session/load replays
late-replay=TEXT       the same, after its answer
unlisted               session/list lists nothing
banner=TEXT            a line that is not JSON first
invalid-utf8           a line that is not text first
pretty                 answer initialize over several lines
batch                  answer initialize in an array
crlf                   end lines with CR LF
duplicate              answer everything twice, and something that was not asked
long-line=N            write N bytes without a newline after initialize
ignore-eof             live on when stdin ends
trap-term=FILE         survive SIGTERM; write FILE when it comes
exit-on-term=FILE      write FILE when SIGTERM comes, then exit
flush=SECONDS:FILE     when stdin ends, take that long, then write FILE
grandchild=FILE        start a process that holds our pipes for a minute; write its id to FILE
trapping-grandchild=FILE    the same, and it survives SIGTERM
leaving-grandchild=FILE     the same, in a session of its own
wrapper                run the agent as a child and forward no signal
started=FILE           write FILE first
agents=FILE            append our id and the pipes of our standard streams to FILE first
steering               advertise steering; a message joins the turn, which says it after the step `wait-message`
steering=OUTCOME       the same, but messages are answered with that outcome
stale                  answer the prompt after a cancelled one at once, with nothing
log=FILE               append every line that is read to FILE
script=SCRIPT          follow this one, whatever the prompt says
"""

options = {}
for argument in sys.argv[1:]:
    name, _, value = argument.partition("=")
    options[name] = value

END = b"\r\n" if "crlf" in options else b"\n"


def raw(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def write(message):
    raw(json.dumps(message).encode() + END)


def mark(path, text=""):
    with open(path + ".part", "w") as file:
        file.write(text)
    os.rename(path + ".part", path)


def respond(request, result=None, error=None):
    message = {"jsonrpc": "2.0", "id": request["id"]}
    message.update({"error": error} if error else {"result": result})
    if "duplicate" in options:
        write({"jsonrpc": "2.0", "id": "never-asked", "result": {}})
        write(message)
    write(message)


def read():
    """The next message, `None` at the end."""
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            return None
        if "log" in options:
            with open(options["log"], "ab") as file:
                file.write(line)
        if line.strip():
            return json.loads(line)


owed = False  # an empty answer to the next prompt
servers = []  # the MCP servers that we were told of
clients = []
reminded = []  # what to do when the result is asked for once more
INSTRUCTIONS = "Deliver your final result by calling the tool"
REMINDER = "Your result is not delivered yet."


def ask_server(method, params):
    if not clients:
        clients.append(mcp_client.client(servers[0]))
    return clients[0].ask(method, params)


class Turn:
    def __init__(self, request):
        self.request = request
        self.session = request["params"]["sessionId"]
        self.cancelled = False
        self.stop = "end_turn"
        self.late = []
        self.messages = []
        self.usage = None

    def update(self, kind, **fields):
        write({"jsonrpc": "2.0", "method": "session/update",
               "params": {"sessionId": self.session, "update": {"sessionUpdate": kind, **fields}}})

    def say(self, text, kind="agent_message_chunk"):
        self.update(kind, content={"type": "text", "text": text})

    def pump(self):
        message = read()
        if message is None:
            end_of_stdin()
            sys.exit(0)
        if message.get("method") == "session/cancel":
            self.cancelled = True
        if message.get("method") == "_session/steering" and options.get("steering") != "silent":
            outcome = options.get("steering") or "injected"
            respond(message, {"outcome": outcome})
            if outcome == "injected":
                self.messages.append("".join(block.get("text", "") for block in message["params"]["prompt"]))
        return message

    def ask(self, kinds, wait=True, session=None, title="a tool", kind="execute"):
        write({"jsonrpc": "2.0", "id": "ask", "method": "session/request_permission", "params": {
            "sessionId": session or self.session,
            "toolCall": {"toolCallId": "call", "title": title, "kind": kind, "rawInput": {"n": 1}},
            "options": [{"optionId": f"option {place}", "name": kind, "kind": kind}
                        for place, kind in enumerate(kinds)]}})
        while wait:
            message = self.pump()
            if message.get("id") == "ask" and "method" not in message:
                outcome = message["result"]["outcome"]
                return outcome.get("optionId", outcome["outcome"])

    def run(self):
        global owed
        if owed:
            owed = False
            return respond(self.request, {"stopReason": "end_turn"})
        text = "".join(block.get("text", "") for block in self.request["params"]["prompt"]
                       if not block.get("text", "").startswith(INSTRUCTIONS))
        text = options.get("script", text)
        if text.startswith(REMINDER):
            text = "\n".join(reminded)
        for line in text.split("\n"):
            verb, _, rest = line.partition(" ")
            self.step(verb, rest)
        if self.stop is not None:
            result = {"stopReason": self.stop}
            if self.usage:
                result["usage"] = self.usage
            respond(self.request, result)
        owed = "stale" in options and self.cancelled
        for text in self.late:
            self.say(text)

    def step(self, verb, rest):
        if verb == "say":
            self.say(rest)
        elif verb == "think":
            self.say(rest, "agent_thought_chunk")
        elif verb == "image":
            self.update("agent_message_chunk", content={"type": "image", "data": "AA==", "mimeType": "image/png"})
        elif verb == "update":
            update = json.loads(rest)
            self.update(update.pop("sessionUpdate", None), **update)
        elif verb == "foreign":
            self.session, session = "another", self.session
            self.say(rest)
            self.session = session
        elif verb == "flood":
            for number in range(int(rest)):
                self.say("x" * 100)
        elif verb == "flood-of-kinds":
            for number in range(int(rest)):
                self.update("telepathy", of="x" * 1000)
        elif verb == "raw":
            raw(rest.encode() + END)
        elif verb == "usage":
            self.usage = json.loads(rest)
        elif verb == "permission":
            self.say("[" + self.ask(rest.split(",")) + "]")
        elif verb == "permission-of-a-child":
            self.say("[" + self.ask(rest.split(","), session="session-of-a-child") + "]")
        elif verb == "wait-message":
            while not self.messages and not self.cancelled:
                self.pump()
            self.say("".join(f"[{text}]" for text in self.messages))
            self.messages = []
        elif verb == "unanswered-permission":
            self.ask(rest.split(","), wait=False)
        elif verb == "unknown-request":
            write({"jsonrpc": "2.0", "id": "odd", "method": "fs/read_text_file", "params": {}})
            while True:
                message = self.pump()
                if message.get("id") == "odd":
                    self.say(f"[{message['error']['code']}]")
                    break
        elif verb == "deliver":
            self.say("[" + mcp_client.text(ask_server("tools/call", {
                "name": "deliver_result", "arguments": json.loads(rest)})) + "]")
        elif verb == "call":
            name, _, arguments = rest.partition(" ")
            self.say("[" + mcp_client.text(ask_server("tools/call", {
                "name": name, "arguments": json.loads(arguments)})) + "]")
        elif verb == "tools":
            self.say(json.dumps(ask_server("tools/list", {})["result"]["tools"]))
        elif verb == "servers":
            mark(rest, json.dumps(servers))
        elif verb == "tell-token":
            print(servers[0]["headers"][0]["value"], file=sys.stderr, flush=True)
        elif verb == "ask-for":
            kind, _, title = rest.partition(" ")
            self.say("[" + self.ask(["allow_once", "reject_once"], title=title, kind=kind) + "]")
        elif verb == "on-reminder":
            reminded.append(rest)
        elif verb == "wait-file":
            while not os.path.exists(rest):
                time.sleep(0.01)
        elif verb == "wait-cancel":
            while not self.cancelled:
                self.pump()
            self.stop = rest or "cancelled"
        elif verb == "ask-after-cancel":
            while not self.cancelled:
                self.pump()
            self.stop = "cancelled"
            self.say("[" + self.ask(rest.split(",")) + "]")
        elif verb == "hang":
            while True:
                self.pump()
        elif verb == "sleep":
            time.sleep(float(rest))
        elif verb == "stop":
            self.stop = rest
        elif verb == "no-answer":
            self.stop = None
        elif verb == "error":
            code, _, text = rest.partition(" ")
            respond(self.request, error={"code": int(code), "message": text})
            self.stop = None
        elif verb == "late":
            self.late.append(rest)
        elif verb == "stderr":
            print(rest, file=sys.stderr, flush=True)
        elif verb == "env":
            self.say(f"[{os.environ.get(rest, 'unset')}]")
        elif verb == "cwd":
            self.say(f"[{os.getcwd()}]")
        elif verb == "exit":
            sys.stdout.flush()
            os._exit(int(rest))
        elif verb == "answer-without-newline":
            raw(json.dumps({"jsonrpc": "2.0", "id": self.request["id"],
                            "result": {"stopReason": "end_turn"}}).encode())
            os._exit(0)
        elif verb == "kill-wrapper":
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(60)
        elif verb == "kill":
            os.kill(os.getpid(), int(rest))
        elif verb == "close-stdout":
            os.close(1)
            time.sleep(60)
        elif verb == "close-stdin":
            os.close(0)
            time.sleep(60)
        elif verb == "grandchild":
            grandchild(rest, "sleep 60")
        elif verb:
            raise ValueError(f"unknown step {verb}")


def grandchild(path, script, **how):
    child = subprocess.Popen(["/bin/sh", "-c", f"{script} & echo $! > {path}.part; mv {path}.part {path}; wait"],
                             stdin=subprocess.DEVNULL, **how)
    while not os.path.exists(path):
        time.sleep(0.01)
    return child


def end_of_stdin():
    if "flush" in options:
        seconds, _, path = options["flush"].partition(":")
        time.sleep(float(seconds))
        mark(path)
    while "ignore-eof" in options:
        time.sleep(60)


def on_term(*_):
    mark(options.get("trap-term") or options["exit-on-term"])
    if "exit-on-term" in options:
        os._exit(0)


def answer(request):
    method = request["method"]
    able = options.get("able", "").split(",")
    after, _, status = options.get("exit-after", "").partition(":")
    if after == method:
        os._exit(int(status))
    if "silent" in options or options.get("silent-on") == method:
        return
    refused = options.get("error-on", "").split(":", 2)
    if refused[0] == method:
        return respond(request, error={"code": int(refused[1]), "message": refused[2]})
    if method == "initialize":
        result = {
            "protocolVersion": int(options.get("version", "1")),
            "agentInfo": {"name": "scripted", "version": "1"},
            "agentCapabilities": {
                "loadSession": "load" in able,
                "promptCapabilities": {"image": "image" in able},
                "mcpCapabilities": {"http": "http" in able},
                "sessionCapabilities": {name: {} for name in ("resume", "close", "list") if name in able},
            },
            "authMethods": [{"id": "login", "name": "Log in"}],
            "_meta": {"anything": [1, 2, {"at": "all"}]},
        }
        if "steering" in options:
            result["_meta"]["steering"] = {"supported": True}
        if "pretty" in options:
            raw(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}, indent=2).encode() + END)
        elif "batch" in options:
            write([{"jsonrpc": "2.0", "id": request["id"], "result": result}])
        else:
            respond(request, result)
        if "long-line" in options:
            for _ in range(int(options["long-line"]) // 65536 + 1):
                raw(b"x" * 65536)
        return
    if method in ("session/new", "session/load", "session/resume"):
        servers[:] = request["params"]["mcpServers"]
    if method == "session/new":
        return respond(request, {} if "no-session-id" in options else {
            "sessionId": options.get("session", "session-1"),
            "modes": {"currentModeId": "ask", "availableModes": [{"id": "ask"}, {"id": "code"}]},
            "configOptions": [{"id": "the-model", "category": "model", "type": "select", "currentValue": "small",
                               "options": [{"value": "small"}, {"value": "large"}]}],
        })
    if method in ("session/load", "session/resume"):
        turn = Turn(request)
        if method == "session/load" and options.get("replay"):
            turn.say(options["replay"], "user_message_chunk")
            turn.say(options["replay"])
        respond(request, None)
        if options.get("late-replay"):
            time.sleep(0.05)
            turn.say(options["late-replay"])
        return
    if method == "session/list":
        known = [] if "unlisted" in options else [{"sessionId": options.get("session", "session-1"), "cwd": "/"}]
        return respond(request, {"sessions": known})
    if method in ("session/close", "session/set_config_option", "session/set_mode"):
        return respond(request, {})
    if method == "_session/steering":
        return respond(request, {"outcome": "promptRequired", "reason": "noRunningTurn"})
    if method == "session/prompt":
        return Turn(request).run()
    respond(request, error={"code": -32601, "message": f"unknown method {method}"})


def main():
    if "started" in options:
        mark(options["started"], str(os.getpid()))
    if "agents" in options:
        pipes = " ".join(os.readlink(f"/proc/self/fd/{stream}") for stream in range(3))
        with open(options["agents"], "a") as file:
            file.write(f"{os.getpid()} {pipes}\n")
    if "wrapper" in options:
        again = [argument for argument in sys.argv if argument != "wrapper"]
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        sys.exit(subprocess.call([sys.executable, *again]))
    if "trap-term" in options or "exit-on-term" in options:
        signal.signal(signal.SIGTERM, on_term)
    if "stderr" in options:
        print(options["stderr"], file=sys.stderr, flush=True)
    if "exit" in options:
        sys.exit(int(options["exit"]))
    if "banner" in options:
        raw(options["banner"].encode() + END)
    if "invalid-utf8" in options:
        raw(b"\xff\xfe\x00 not text" + END)
    if "grandchild" in options:
        grandchild(options["grandchild"], "sleep 60")
    if "trapping-grandchild" in options:
        grandchild(options["trapping-grandchild"], "(trap '' TERM; while :; do sleep 1; done)")
    if "leaving-grandchild" in options:
        grandchild(options["leaving-grandchild"], "sleep 60", start_new_session=True)
    while True:
        message = read()
        if message is None:
            return end_of_stdin()
        if "method" in message and "id" in message:
            answer(message)


main()
