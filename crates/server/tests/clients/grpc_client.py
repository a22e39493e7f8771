"""A gRPC client, generated from a .proto by grpcio-tools.

usage: grpc_client.py PROTO_ROOT ADDRESS

Reads one question a line from standard input, as JSON, and answers each with a line of JSON:

    {"allow": {...}}         Allow, with the fields of AllowRequest; answers with those of AllowResponse
    {"raw": "0a01ff"}        Allow, with these bytes, in hexadecimal, as the message
    {"health": "SERVICE"}    grpc.health.v1.Health/Check
    {"watch": "SERVICE"}     grpc.health.v1.Health/Watch: answers with the first status, stays open,
                             and answers once more when the stream has ended
    {"reflect": "v1"}        lists the services by grpc.reflection.v1 (or v1alpha)
"""

import json
import sys
import tempfile

import grpc
from google.protobuf.json_format import MessageToDict
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from grpc_tools import protoc

FILE = "ratelimiter/v1/ratelimiter.proto"


def generate(root):
    out = tempfile.mkdtemp()
    status = protoc.main(
        ["protoc", f"-I{root}", f"-I{protoc.__path__[0] if hasattr(protoc, '__path__') else include()}",
         f"--python_out={out}", f"--grpc_python_out={out}", FILE]
    )
    assert status == 0, "the .proto does not compile"
    sys.path.insert(0, out)
    from ratelimiter.v1 import ratelimiter_pb2, ratelimiter_pb2_grpc
    return ratelimiter_pb2, ratelimiter_pb2_grpc


def include():
    import importlib.resources
    return importlib.resources.files("grpc_tools") / "_proto"


def main(root, address):
    messages, services = generate(root)
    channel = grpc.insecure_channel(address)
    limiter = services.RateLimiterStub(channel)
    raw = channel.unary_unary("/ratelimiter.v1.RateLimiter/Allow")
    health = health_pb2_grpc.HealthStub(channel)
    serving = health_pb2.HealthCheckResponse.ServingStatus.Name

    def ask(question):
        match question:
            case {"allow": fields}:
                answer = limiter.Allow(messages.AllowRequest(**fields), timeout=10)
                return MessageToDict(answer, always_print_fields_with_no_presence=True)
            case {"raw": message}:
                raw(bytes.fromhex(message), timeout=10)
                return {}
            case {"health": service}:
                request = health_pb2.HealthCheckRequest(service=service)
                return {"status": serving(health.Check(request, timeout=10).status)}
            case {"watch": service}:
                stream = health.Watch(health_pb2.HealthCheckRequest(service=service))
                print(json.dumps({"status": serving(next(stream).status)}), flush=True)
                statuses = [serving(update.status) for update in stream]
                return {"then": statuses}
            case {"reflect": version}:
                list_services = channel.stream_stream(
                    f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
                    request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
                    response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
                )
                request = reflection_pb2.ServerReflectionRequest(list_services="")
                answer = next(list_services(iter([request]), timeout=10))
                return {"services": [s.name for s in answer.list_services_response.service]}

    for line in sys.stdin:
        try:
            answer = ask(json.loads(line))
        except grpc.RpcError as error:
            answer = {"code": error.code().name, "details": error.details()}
        print(json.dumps(answer), flush=True)


main(*sys.argv[1:])
