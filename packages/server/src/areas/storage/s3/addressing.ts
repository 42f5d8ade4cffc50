/** Where requests of S3 clients go: the bucket is in the path, or in the name of the host. */
import type { IncomingMessage } from "node:http"
import { isIP } from "node:net"
import { isSigned } from "../../../core/keys/sigv4.ts"
import type { Reroute } from "../../../kernel/edges/http.ts"
import { fault } from "../../../kernel/fault.ts"
import { renderS3Error } from "./errors.ts"

const ROOT = "/s3"
/** Where objects are read by those who bring no credentials. */
const PUBLIC_ROOT = "/s3-public"
const HOSTS_KNOWN_MAX = 1000

/**
 * What a host name stands for: the endpoint of S3, on which every path is S3's; one of its buckets; the installation; a
 * name below the installation's, which SDKs make of a bucket and an endpoint; or nothing of ours.
 */
type HostRole =
  | { readonly is: "endpoint" | "own" | "foreign" }
  | { readonly is: "bucket" | "below"; readonly bucket: string }

export interface S3Hosts {
  /** Names below it are buckets; undefined where none leads here. */
  readonly domain: string | undefined
  /** Where the installation is reached. */
  readonly baseUrl: string
}

const labelBefore = (name: string, domain: string | undefined): string | undefined =>
  domain !== undefined && name.endsWith(`.${domain}`) ? name.slice(0, -domain.length - 1) : undefined

const readHost = (host: string, { domain, baseUrl }: S3Hosts): HostRole => {
  const name = host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "")
  if (name === domain) return { is: "endpoint" }
  const bucket = labelBefore(name, domain)
  if (bucket !== undefined) return { is: "bucket", bucket }
  const base = new URL(baseUrl).hostname
  // A name of one part, such as that of a container, holds no bucket.
  if (name === base || !name.includes(".") || isIP(name.replace(/^\[|\]$/g, "")) > 0) return { is: "own" }
  const below = labelBefore(name, base) ?? labelBefore(name, "localhost")
  return below === undefined ? { is: "foreign" } : { is: "below", bucket: below }
}

/** A slash behind a bucket means nothing, and neither does the second of two where an endpoint ended in one. */
const inPath = (path: string): string =>
  (ROOT + path.replace(/^\/{2,}/, "/")).replace(/^(\/s3(?:\/[^/]+)?)\/$/, "$1")

const inBucket = (bucket: string, path: string): string =>
  `${ROOT}/${encodeURIComponent(bucket)}${path === "/" ? "" : path}`

/** A path with a bucket, which may be open to anybody, and one with a key. */
const OF_BUCKET = /^\/s3\/[^/?]+/
const OF_OBJECT = /^\/s3\/[^/?]+\/[^?]/

/** What may be asked without credentials, of a bucket and of an object. */
const OPEN_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"])
const OPEN_OBJECT_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "PUT", "DELETE"])

/** Also what S3 refuses for want of an origin; a page that asks for nothing is told the methods of the path. */
const isPreflight = (method: string, headers: IncomingMessage["headers"]): boolean =>
  method === "OPTIONS" &&
  (headers.origin === undefined || headers["access-control-request-method"] !== undefined)

/** Cookies do not count at S3's paths, so a request with neither header nor signature comes from nobody in particular. */
const isForm = (method: string, headers: IncomingMessage["headers"]): boolean =>
  method === "POST" && headers["content-type"]?.toLowerCase().startsWith("multipart/form-data") === true

const forCaller = ({ method = "", url = "", headers }: IncomingMessage, target: string): string => {
  // A preflight never has credentials, whatever it asks for.
  const isAnonymous =
    method === "OPTIONS" || (headers.authorization === undefined && !isSigned(url, undefined))
  const methods = OF_OBJECT.test(target) ? OPEN_OBJECT_METHODS : OPEN_METHODS
  const isOpen = isPreflight(method, headers) || isForm(method, headers) || methods.has(method)
  return isAnonymous && isOpen && OF_BUCKET.test(target) ? PUBLIC_ROOT + target.slice(ROOT.length) : target
}

const foreign = ({ domain }: S3Hosts, host: string) =>
  fault("invalid_request", {
    reason:
      `the host ${host} is neither this installation's nor a bucket's. Put the bucket in the path, below ${ROOT}` +
      (domain === undefined ? "; SVC_S3_DOMAIN lets host names be buckets" : `, or use <bucket>.${domain}`),
  })

/**
 * The path of the operation that is meant. Some clients take no path in their endpoint, so whatever is signed is S3's,
 * under `/s3` or at the root; but only on hosts whose meaning is known, or a bucket in the name would go unseen. The
 * signature is over what was sent.
 */
export const createS3Reroute = (hosts: S3Hosts): Reroute => {
  const known = new Map<string, HostRole>()
  const roleOf = (host: string): HostRole => {
    const found = known.get(host)
    if (found) return found
    if (known.size >= HOSTS_KNOWN_MAX) known.clear()
    const role = readHost(host, hosts)
    known.set(host, role)
    return role
  }

  return request => {
    const { url = "", headers } = request
    const role = roleOf(headers.host ?? "")
    const at = url.indexOf("?")
    const path = at < 0 ? url : url.slice(0, at)
    const query = url.slice(path.length)
    if (role.is === "bucket") return forCaller(request, inBucket(role.bucket, path) + query)
    const isUnderRoot = path === ROOT || path.startsWith(`${ROOT}/`)
    if (!isUnderRoot && role.is !== "endpoint" && !isSigned(url, headers.authorization)) return undefined
    const rest = isUnderRoot ? path.slice(ROOT.length) : path
    const isKnown = role.is === "own" || role.is === "endpoint"
    // At the root of other names nothing tells a bucket from a part of the host, nor a key from the path of an endpoint.
    if (!isUnderRoot && !isKnown)
      return { refusal: foreign(hosts, headers.host ?? ""), render: renderS3Error }
    if (role.is === "below") return forCaller(request, inBucket(role.bucket, rest || "/") + query)
    return forCaller(request, inPath(rest) + query)
  }
}
