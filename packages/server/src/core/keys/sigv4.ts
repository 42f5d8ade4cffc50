/**
 * AWS Signature Version 4 as S3 reads it: what a request claims, and the signature that it should have.
 *
 * Source: "AWS Signature Version 4 for API requests" and "Authenticating Requests (AWS Signature Version 4)" of the S3
 * API reference. S3 escapes the path once, where other services do it twice.
 */
import { createHmac, createSecretKey, hash, type KeyObject, timingSafeEqual } from "node:crypto"
import { fault } from "../../kernel/fault.ts"

export const ALGORITHM = "AWS4-HMAC-SHA256"
const UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD"
const SERVICE = "s3"
const TERMINATOR = "aws4_request"
/** A week: what S3 allows. */
const PRESIGNED_SECONDS_MAX = 604_800
const SIGNED_HEADERS_MAX = 100

/** The parts of a request that a signature covers. */
export interface SignableRequest {
  readonly method: string
  /** Path and query as they were sent. */
  readonly target: string
  header(name: string): string | undefined
}

/** What a request says of its signature. */
export interface Claim {
  readonly form: "header" | "query"
  readonly accessKeyId: string
  /** `20260102/us-east-1/s3/aws4_request` */
  readonly scope: string
  /** `20260102T030405Z` */
  readonly time: string
  readonly timeMs: number
  /** How long a presigned URL is good for. */
  readonly expiresSeconds: number | null
  readonly signedHeaders: readonly string[]
  /** Hexadecimal. */
  readonly signature: string
  readonly payloadHash: string
}

type Pairs = readonly (readonly [name: string, value: string])[]

const malformed = (reason: string) => fault("signature_malformed", { reason })

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw fault("uri_invalid")
  }
}

/** Everything but letters, digits and `-._~` (RFC 3986, 2.3). */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, sign => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

export const splitTarget = (target: string): readonly [path: string, query: string] => {
  const at = target.indexOf("?")
  return at < 0 ? [target, ""] : [target.slice(0, at), target.slice(at + 1)]
}

/** A plus is a space, as in the query parser that runs later. */
export const parseQuery = (query: string): Pairs =>
  query
    .split("&")
    .filter(pair => pair !== "")
    .map(pair => {
      const [name = "", ...value] = pair.replaceAll("+", " ").split("=")
      return [decode(name), decode(value.join("="))] as const
    })

/** Whether a request is meant to be signed, rightly or not, by this version or the one before it. */
export const isSigned = (target: string, authorization: string | undefined): boolean =>
  (authorization !== undefined && /^AWS(?:4-| )/.test(authorization)) ||
  /(?:^|&)(?:X-Amz-(?:Signature|Algorithm)|AWSAccessKeyId)=/.test(splitTarget(target)[1])

const TIME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/

const parseTime = (time: string): number => {
  const ms = Date.parse(time.replace(TIME, "$1-$2-$3T$4:$5:$6Z"))
  if (!TIME.test(time) || Number.isNaN(ms)) throw malformed("its time is not of the form 20260102T030405Z")
  return ms
}

const CREDENTIAL = /^([^/\s]{1,128})\/(\d{8})\/([0-9A-Za-z_-]{1,64})\/([0-9a-z-]+)\/([0-9a-z_]+)$/

const parseCredential = (credential: string, time: string) => {
  const [, accessKeyId = "", date = "", region = "", service, terminator] = CREDENTIAL.exec(credential) ?? []
  if (service !== SERVICE || terminator !== TERMINATOR)
    throw malformed("its credential is not <access key id>/<date>/<region>/s3/aws4_request")
  if (date !== time.slice(0, 8)) throw malformed("its credential is of another day than its time")
  return { accessKeyId, scope: `${date}/${region}/${SERVICE}/${TERMINATOR}` }
}

const parseSignedHeaders = (text: string): string[] => {
  const names = text.split(";")
  if (names.length > SIGNED_HEADERS_MAX || !names.every(name => /^[0-9a-z!#$%&'*+.^_`|~-]+$/.test(name)))
    throw malformed("its list of signed headers is not valid")
  if (!names.includes("host")) throw malformed("it does not cover the host header")
  return names
}

const parseSignature = (text: string | undefined): string => {
  if (text === undefined || !/^[0-9a-f]{64}$/.test(text)) throw malformed("it is not 64 hexadecimal digits")
  return text
}

const PAYLOAD_HASH = new RegExp(
  `^(?:[0-9a-f]{64}|${UNSIGNED_PAYLOAD}|STREAMING-UNSIGNED-PAYLOAD-TRAILER|STREAMING-${ALGORITHM}-PAYLOAD(?:-TRAILER)?)$`,
)

const parsePayloadHash = (text: string | undefined): string => {
  if (text === undefined || !PAYLOAD_HASH.test(text))
    throw malformed("x-amz-content-sha256 is neither a digest nor a word that S3 knows")
  return text
}

/** The date may come in `Date` where a client cannot set `x-amz-date`. */
const headerTime = (request: SignableRequest): string => {
  const time = request.header("x-amz-date")
  if (time !== undefined) return time
  const ms = Date.parse(request.header("date") ?? "")
  if (Number.isNaN(ms)) throw malformed("the request has neither x-amz-date nor date")
  return new Date(ms).toISOString().replace(/[-:]|\.\d+/g, "")
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 +Credential=([^ ,]+), *SignedHeaders=([^ ,]+), *Signature=([^ ,]+) *$/

const readHeader = (request: SignableRequest, authorization: string): Claim => {
  if (authorization.startsWith("AWS "))
    throw malformed(
      "the Authorization header is of version 2, which is understood in presigned URLs alone; have the client sign by version 4",
    )
  const [, credential = "", signedHeaders = "", signature] = AUTHORIZATION.exec(authorization) ?? []
  if (signature === undefined) throw malformed("the Authorization header is not of AWS4-HMAC-SHA256's form")
  const time = headerTime(request)
  return {
    form: "header",
    ...parseCredential(credential, time),
    time,
    timeMs: parseTime(time),
    expiresSeconds: null,
    signedHeaders: parseSignedHeaders(signedHeaders),
    signature: parseSignature(signature),
    payloadHash: parsePayloadHash(request.header("x-amz-content-sha256")),
  }
}

const readQuery = (request: SignableRequest): Claim => {
  const query = parseQuery(splitTarget(request.target)[1])
  const value = (name: string): string => {
    const values = query.filter(([given]) => given === name)
    if (values.length > 1) throw malformed(`${name} is there twice`)
    return values[0]?.[1] ?? ""
  }
  if (value("X-Amz-Algorithm") !== ALGORITHM) throw malformed(`X-Amz-Algorithm must be ${ALGORITHM}`)
  const time = value("X-Amz-Date")
  const expires = value("X-Amz-Expires")
  if (!/^\d{1,6}$/.test(expires) || Number(expires) < 1 || Number(expires) > PRESIGNED_SECONDS_MAX)
    throw malformed(`X-Amz-Expires must be from 1 to ${PRESIGNED_SECONDS_MAX} seconds`)
  const signedHeaders = parseSignedHeaders(value("X-Amz-SignedHeaders"))
  const hashHeader = signedHeaders.includes("x-amz-content-sha256")
    ? request.header("x-amz-content-sha256")
    : undefined
  return {
    form: "query",
    ...parseCredential(value("X-Amz-Credential"), time),
    time,
    timeMs: parseTime(time),
    expiresSeconds: Number(expires),
    signedHeaders,
    signature: parseSignature(value("X-Amz-Signature")),
    payloadHash: parsePayloadHash((hashHeader ?? value("X-Amz-Content-Sha256")) || UNSIGNED_PAYLOAD),
  }
}

/** What the request claims. Throws `signature_malformed` where that is not to be understood. */
export const readClaim = (request: SignableRequest): Claim => {
  const authorization = request.header("authorization")
  const inQuery = isSigned(request.target, undefined)
  if (authorization === undefined) return readQuery(request)
  if (inQuery) throw malformed("the request is signed twice, in its header and in its query")
  return readHeader(request, authorization)
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const canonicalQuery = (query: string): string =>
  parseQuery(query)
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => [encode(name), encode(value)] as const)
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map(pair => pair.join("="))
    .join("&")

/** What is hashed and signed of a request. */
export const canonicalRequest = (
  request: SignableRequest,
  { signedHeaders, payloadHash }: Pick<Claim, "signedHeaders" | "payloadHash">,
): string => {
  const [path, query] = splitTarget(request.target)
  const headers = signedHeaders.map(
    name => `${name}:${(request.header(name) ?? "").trim().replace(/ {2,}/g, " ")}\n`,
  )
  return [
    request.method,
    path
      .split("/")
      .map(segment => encode(decode(segment)))
      .join("/"),
    canonicalQuery(query),
    headers.join(""),
    signedHeaders.join(";"),
    payloadHash,
  ].join("\n")
}

const hmac = (key: string | Buffer | KeyObject, text: string): Buffer =>
  createHmac("sha256", key).update(text).digest()

/** Of a day, a region and a service: the four parts of the scope, one after the other. */
export const signingKeyOf = (secretAccessKey: string, scope: string): KeyObject =>
  // Node makes a key of bytes anew at each use, which costs more than the signature.
  createSecretKey(scope.split("/").reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`) as Buffer)

/** Hexadecimal. */
export const sign = (signingKey: KeyObject, lines: readonly string[]): string =>
  hmac(signingKey, lines.join("\n")).toString("hex")

export const signatureOf = (
  request: SignableRequest,
  claim: Pick<Claim, "time" | "scope" | "signedHeaders" | "payloadHash">,
  signingKey: KeyObject,
): string =>
  sign(signingKey, [ALGORITHM, claim.time, claim.scope, hash("sha256", canonicalRequest(request, claim))])

/** Of two signatures in hexadecimal; how much of them agrees does not show in the time. */
export const isSameSignature = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
