"""Cases of boto3 and minio-py. Prints one JSON object a case: its name, and its failure if there is one."""

import hashlib
import io
import json
import os
import sys
import urllib.request

LARGE = os.urandom(20 * 1024 * 1024)
MIB = 1024 * 1024


def report(cases):
    for name, case in cases.items():
        try:
            case()
            print(json.dumps({"name": name}), flush=True)
        except Exception as error:  # a case's failure is a row of the table
            print(json.dumps({"name": name, "failure": f"{type(error).__name__}: {error}"}), flush=True)


def same(got, wanted):
    if got != wanted:
        raise AssertionError(f"{str(got)[:200]} is not {str(wanted)[:200]}")


def refused(code, action):
    from botocore.exceptions import ClientError

    try:
        action()
    except ClientError as error:
        return same(error.response["Error"]["Code"], code)
    raise AssertionError(f"not refused with {code}")


def send(url, method="GET", data=None, headers=None):
    request = urllib.request.Request(url, method=method, data=data, headers=headers or {})
    return urllib.request.urlopen(request).read()


def boto3_cases(endpoint, root, access_key, secret_key):
    import boto3
    from boto3.s3.transfer import TransferConfig
    from botocore.config import Config

    session = boto3.session.Session(access_key, secret_key, region_name="us-east-1")
    s3 = session.client("s3", endpoint_url=endpoint)
    bucket = "boto3"
    parts = TransferConfig(multipart_threshold=5 * MIB, multipart_chunksize=5 * MIB)
    read = lambda key, **more: s3.get_object(Bucket=bucket, Key=key, **more)["Body"].read()

    def put_get():
        s3.create_bucket(Bucket=bucket)
        put = s3.put_object(Bucket=bucket, Key="a b/é+", Body=b"hello", ContentType="text/plain", Metadata={"k": "v"})
        same(put["ETag"], '"%s"' % hashlib.md5(b"hello").hexdigest())
        got = s3.get_object(Bucket=bucket, Key="a b/é+")
        same((got["Body"].read(), got["ContentType"], got["Metadata"]), (b"hello", "text/plain", {"k": "v"}))

    def ranges():
        got = s3.get_object(Bucket=bucket, Key="a b/é+", Range="bytes=1-3")
        same((got["Body"].read(), got["ContentRange"]), (b"ell", "bytes 1-3/5"))
        same(read("a b/é+", Range="bytes=-2"), b"lo")
        refused("InvalidRange", lambda: read("a b/é+", Range="bytes=9-"))

    def conditions():
        etag = s3.head_object(Bucket=bucket, Key="a b/é+")["ETag"]
        refused("304", lambda: read("a b/é+", IfNoneMatch=etag))
        refused("PreconditionFailed", lambda: read("a b/é+", IfMatch='"0"'))
        refused("PreconditionFailed", lambda: s3.put_object(Bucket=bucket, Key="a b/é+", IfNoneMatch="*"))

    def multipart():
        s3.upload_fileobj(io.BytesIO(LARGE), bucket, "large", Config=parts)
        back = io.BytesIO()
        s3.download_fileobj(bucket, "large", back, Config=parts)
        same(hashlib.sha256(back.getvalue()).digest(), hashlib.sha256(LARGE).digest())

    def checksums():
        # The others need a package of Amazon's own.
        for name in ("CRC32", "SHA1", "SHA256"):
            put = s3.put_object(Bucket=bucket, Key="sum", Body=b"hello", ChecksumAlgorithm=name)
            got = s3.head_object(Bucket=bucket, Key="sum", ChecksumMode="ENABLED")
            same(got[f"Checksum{name}"], put[f"Checksum{name}"])

    def abort():
        upload = s3.create_multipart_upload(Bucket=bucket, Key="aborted")["UploadId"]
        s3.upload_part(Bucket=bucket, Key="aborted", UploadId=upload, PartNumber=1, Body=b"x")
        same(len(s3.list_parts(Bucket=bucket, Key="aborted", UploadId=upload)["Parts"]), 1)
        same([one["Key"] for one in s3.list_multipart_uploads(Bucket=bucket)["Uploads"]], ["aborted"])
        s3.abort_multipart_upload(Bucket=bucket, Key="aborted", UploadId=upload)
        same(s3.list_multipart_uploads(Bucket=bucket).get("Uploads", []), [])

    def presigned(client, **where):
        at = {"Bucket": bucket, "Key": "presigned é", **where}
        send(client.generate_presigned_url("put_object", Params=at), "PUT", b"signed", {"content-type": ""})
        same(send(client.generate_presigned_url("get_object", Params=at)), b"signed")

    def list_objects():
        for key in ("list/a", "list/b/1", "list/b/2", "list/c"):
            s3.put_object(Bucket=bucket, Key=key)
        pages = s3.get_paginator("list_objects_v2").paginate(
            Bucket=bucket, Prefix="list/", Delimiter="/", PaginationConfig={"PageSize": 1}
        )
        found = [one for page in pages for one in page.get("Contents", []) + page.get("CommonPrefixes", [])]
        same([one.get("Key") or one["Prefix"] for one in found], ["list/a", "list/b/", "list/c"])
        same(len(s3.list_objects(Bucket=bucket, Prefix="list/")["Contents"]), 4)
        same(bucket in [one["Name"] for one in s3.list_buckets()["Buckets"]], True)

    def copy():
        s3.copy_object(Bucket=bucket, Key="copied", CopySource={"Bucket": bucket, "Key": "a b/é+"})
        same(read("copied"), b"hello")
        s3.copy({"Bucket": bucket, "Key": "large"}, bucket, "large copied", Config=parts)
        same(read("large copied") == LARGE, True)

    def delete():
        s3.delete_object(Bucket=bucket, Key="copied")
        refused("404", lambda: s3.head_object(Bucket=bucket, Key="copied"))
        refused("NoSuchKey", lambda: read("copied"))
        keys = [{"Key": one["Key"]} for one in s3.list_objects_v2(Bucket=bucket)["Contents"]]
        same(len(s3.delete_objects(Bucket=bucket, Delete={"Objects": keys})["Deleted"]), len(keys))
        s3.delete_bucket(Bucket=bucket)
        refused("404", lambda: s3.head_bucket(Bucket=bucket))

    v4 = session.client("s3", endpoint_url=endpoint, config=Config(signature_version="s3v4"))
    at_root = session.client("s3", endpoint_url=root, config=Config(s3={"addressing_style": "path"}))
    return {
        "put and get": put_get,
        "get with a range": ranges,
        "conditions": conditions,
        "multipart up and down": multipart,
        "checksums": checksums,
        "list and abort of uploads": abort,
        "presigned GET and PUT, as it signs by itself": lambda: presigned(s3),
        "presigned GET and PUT, version 4": lambda: presigned(v4),
        "presigned GET and PUT, endpoint without a path": lambda: presigned(at_root),
        "list": list_objects,
        "copy": copy,
        "delete": delete,
    }


def minio_cases(endpoint, root, access_key, secret_key):
    from datetime import timedelta
    from minio import Minio
    from minio.commonconfig import ComposeSource, CopySource
    from minio.deleteobjects import DeleteObject

    client = Minio(root.split("://")[1], access_key, secret_key, secure=False, region="us-east-1")
    bucket = "minio-py"

    def read(key, **more):
        reply = client.get_object(bucket, key, **more)
        try:
            return reply.read()
        finally:
            reply.close()
            reply.release_conn()

    def put_get():
        client.make_bucket(bucket)
        same(client.bucket_exists(bucket), True)
        client.put_object(bucket, "a b/é+", io.BytesIO(b"hello"), 5, metadata={"k": "v"})
        same((read("a b/é+"), read("a b/é+", offset=1, length=3)), (b"hello", b"ell"))
        same(client.stat_object(bucket, "a b/é+").metadata["x-amz-meta-k"], "v")

    def multipart():
        client.put_object(bucket, "large", io.BytesIO(LARGE), -1, part_size=5 * MIB)
        same(read("large") == LARGE, True)

    def copy():
        client.copy_object(bucket, "copied", CopySource(bucket, "a b/é+"))
        same(read("copied"), b"hello")

    def compose():
        client.compose_object(bucket, "composed", [ComposeSource(bucket, "large"), ComposeSource(bucket, "copied")])
        same(read("composed") == LARGE + b"hello", True)

    def presigned():
        url = client.presigned_put_object(bucket, "presigned", timedelta(minutes=5))
        send(url, "PUT", b"signed", {"content-type": ""})
        same(send(client.presigned_get_object(bucket, "presigned", timedelta(minutes=5))), b"signed")

    def list_objects():
        same("a b/" in [one.object_name for one in client.list_objects(bucket)], True)
        same(len(list(client.list_objects(bucket, recursive=True))), 5)

    def delete():
        client.remove_object(bucket, "copied")
        names = [DeleteObject(one.object_name) for one in client.list_objects(bucket, recursive=True)]
        same(list(client.remove_objects(bucket, names)), [])
        client.remove_bucket(bucket)

    return {
        "put, get, range, stat": put_get,
        "put in parts": multipart,
        "copy": copy,
        "compose": compose,
        "presigned GET and PUT": presigned,
        "list": list_objects,
        "delete": delete,
    }


if __name__ == "__main__":
    kind, *where = sys.argv[1:]
    access = (*where, os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"])
    report({"boto3": boto3_cases, "minio-py": minio_cases}[kind](*access))
