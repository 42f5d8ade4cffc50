/** The server at the other end, one bucket of it, and its errors as the port says them. */
import { S3Client, S3ServiceException } from "@aws-sdk/client-s3"
import { PortError, type PortErrorKind } from "../../../port-error.ts"

/** One bucket of any server that speaks S3, or a part of it. */
export interface S3Address {
  /** The server, without the bucket: `https://s3.eu-central-1.amazonaws.com`. */
  readonly endpoint: string
  readonly bucket: string
  /** Before every key: empty, or with a slash at its end. */
  readonly prefix: string
  readonly region: string
  /** Undefined: what the AWS SDK finds by itself, such as the role of the machine. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined
  /** Whether the bucket stands in the path or before the host name. */
  readonly addressing: "path" | "host"
}

/** Reads and writes at the same time; each keeps a connection for as long as its caller takes. */
const CONNECTIONS_MAX = 256
const CONNECT_MS_MAX = 3_000
const ATTEMPTS = 3

export interface Bucket extends Disposable {
  readonly client: S3Client
  readonly bucket: string
  /** How long the server may take to answer, and then from one chunk of a body to the next. */
  readonly timeoutMs: number
  blobKey(owner: string, address: string): string
  /** Where the SHA-256 is of a blob that was written in parts. */
  sumKey(owner: string, address: string): string
  readonly blobsPrefix: string
}

const nothing = () => undefined
const silent = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing }

export const openBucket = (address: S3Address, timeoutMs: number): Bucket => {
  const { endpoint, bucket, prefix, region, credentials, addressing } = address
  const agent = { keepAlive: true, maxSockets: CONNECTIONS_MAX }
  const client = new S3Client({
    endpoint,
    region,
    ...(credentials && { credentials }),
    forcePathStyle: addressing === "path",
    maxAttempts: ATTEMPTS,
    // Servers other than Amazon's stumble over the checksums that newer clients add to every request.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: {
      connectionTimeout: CONNECT_MS_MAX,
      requestTimeout: timeoutMs,
      throwOnRequestTimeout: true,
      // A reader may take as long as he likes; who waits for the server is looked after elsewhere.
      socketTimeout: 0,
      logger: silent,
      httpAgent: agent,
      httpsAgent: agent,
    },
  })
  return {
    client,
    bucket,
    timeoutMs,
    blobKey: (owner, address) => `${prefix}blobs/${owner}/${address}`,
    sumKey: (owner, address) => `${prefix}sums/${owner}/${address}`,
    blobsPrefix: `${prefix}blobs/`,
    [Symbol.dispose]: () => client.destroy(),
  }
}

export const errorName = (error: unknown): string => (error instanceof Error ? error.name : "")

const KINDS: ReadonlyMap<string, PortErrorKind> = new Map([
  ["NoSuchKey", "missing"],
  ["NotFound", "missing"],
  ["NoSuchUpload", "missing"],
  ["InvalidRange", "refused"],
  ["EntityTooLarge", "refused"],
  ["NotImplemented", "refused"],
])

/** The server's words are left out: they may repeat what it was sent. A wrong key or bucket is the operator's to mend. */
export const asPortError = (error: unknown): PortError => {
  if (error instanceof PortError) return error
  const name = errorName(error)
  const status = error instanceof S3ServiceException ? ` (${error.$metadata.httpStatusCode})` : ""
  return new PortError(KINDS.get(name) ?? "unavailable", `the blob server answered ${name}${status}`, error)
}

export const rejectAsPortError = (error: unknown): never => {
  throw asPortError(error)
}
