import type { Settings } from "../../kernel/setting.ts"
import { optional, url, word } from "../../kernel/setting-parsers.ts"

export interface BucketUrl {
  readonly endpoint: string
  readonly bucket: string
  readonly prefix: string
}

/** `https://host/bucket` or `https://host/bucket/a/prefix`. */
export const bucketUrl = (text: string | undefined): BucketUrl | undefined => {
  const whole = url("http:", "https:")(text)
  if (whole === undefined) return undefined
  const { origin, pathname } = new URL(whole)
  const [bucket = "", ...prefix] = pathname.slice(1).split("/").map(decodeURIComponent)
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket) || prefix.includes(""))
    throw new RangeError("must name the bucket in its path, as in https://s3.example.com/bucket")
  return { endpoint: origin, bucket, prefix: prefix.map(part => `${part}/`).join("") }
}

export const settings = {
  blobUrl: {
    variable: "SVC_BLOB_S3_URL",
    otherwise: "files in the data folder",
    meaning:
      "Bucket of an S3-compatible server that keeps the bytes of objects: `https://host/bucket/prefix`.",
    parse: bucketUrl,
  },
  blobRegion: {
    variable: "SVC_BLOB_S3_REGION",
    otherwise: "us-east-1",
    meaning: "Region of that bucket.",
    parse: (text = "us-east-1") => text,
  },
  blobAccessKey: {
    variable: "SVC_BLOB_S3_ACCESS_KEY",
    otherwise: "what the AWS SDK finds by itself, such as the role of this machine",
    meaning: "Access key id for that server.",
    parse: optional,
  },
  blobSecretKey: {
    variable: "SVC_BLOB_S3_SECRET_KEY",
    otherwise: "none",
    meaning: "Secret access key of that id.",
    secret: true,
    parse: optional,
  },
  blobAddressing: {
    variable: "SVC_BLOB_S3_ADDRESSING",
    otherwise: "path",
    meaning: "Where requests name the bucket: in the `path`, or before the `host` name.",
    parse: word("path", "host"),
  },
} as const satisfies Settings
