"""A client of the MCP servers that an ACP agent is told of; standard library only."""
import json, os, subprocess, urllib.error, urllib.request


class Http:
    def __init__(self, server):
        self.url = server["url"]
        self.headers = {header["name"]: header["value"] for header in server["headers"]}
        self.ids = 0

    def ask(self, method, params):
        self.ids += 1
        body = json.dumps({"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params}).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **self.headers}
        request = urllib.request.Request(self.url, body, headers, method="POST")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request) as response:
                for line in response:
                    line = line.decode().strip()
                    line = line[5:].strip() if line.startswith("data:") else line
                    if line.startswith("{"):
                        message = json.loads(line)
                        if message.get("id") == self.ids:
                            return message
        except urllib.error.HTTPError as error:
            return {"error": {"message": f"HTTP {error.code}"}}
        except OSError:
            return {"error": {"message": "closed"}}
        return {"error": {"message": "no answer"}}


class Stdio:
    def __init__(self, server):
        environment = {**os.environ, **{variable["name"]: variable["value"] for variable in server["env"]}}
        self.process = subprocess.Popen([server["command"], *server["args"]], env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ids = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                "clientInfo": {"name": "scripted", "version": "1"}})
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.ids += 1
        self.write({"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params})
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.ids:
                return message
        return {"error": {"message": "closed"}}


def client(server):
    return Http(server) if server.get("type") == "http" else Stdio(server)


def text(answer):
    """What a tool answered, an error marked as such."""
    if "error" in answer:
        return "ERROR " + answer["error"]["message"]
    said = "".join(block.get("text", "") for block in answer["result"]["content"])
    return ("ERROR " if answer["result"].get("isError") else "") + said
