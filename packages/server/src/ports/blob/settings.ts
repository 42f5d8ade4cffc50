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
    default: "files in the data folder",
    description:
      "Bucket of an S3-compatible server that stores the content of objects: `https://host/bucket/prefix`.",
    parse: bucketUrl,
  },
  blobRegion: {
    variable: "SVC_BLOB_S3_REGION",
    default: "us-east-1",
    description: "Region of that bucket.",
    parse: (text = "us-east-1") => text,
  },
  blobAccessKey: {
    variable: "SVC_BLOB_S3_ACCESS_KEY",
    default: "credentials that the AWS SDK finds, such as the role of this machine",
    description: "Access key id for that server.",
    parse: optional,
  },
  blobSecretKey: {
    variable: "SVC_BLOB_S3_SECRET_KEY",
    default: "none",
    description: "Secret access key for that server.",
    secret: true,
    parse: optional,
  },
  blobAddressing: {
    variable: "SVC_BLOB_S3_ADDRESSING",
    default: "path",
    description: "Where requests name the bucket: in the `path` or in the `host` name.",
    parse: word("path", "host"),
  },
} as const satisfies Settings
