/** How the values of settings are read. Each throws a RangeError that says what the value must be. */
import { Resolver } from "node:dns"
import { readFileSync } from "node:fs"
import { parseReference } from "./core/images/reference.ts"
import { parseCidrs } from "./kernel/edges/client-address.ts"
import { isUuid } from "./kernel/id.ts"

export const integer =
  (min: number, max: number, otherwise: number) =>
  (text = String(otherwise)): number => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new RangeError(`must be a whole number from ${min} to ${max}`)
    return value
  }

export const optionalInteger =
  (min: number, max: number) =>
  (text: string | undefined): number | undefined =>
    text === undefined ? undefined : integer(min, max, min)(text)

/** 0: any that is free. */
export const port = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : integer(0, 65_535, 0)(text)

/** In lower case, without a dot at the end. */
export const domainName = (text: string | undefined): string | undefined => {
  const name = text?.toLowerCase()
  if (name !== undefined && !/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z][a-z0-9-]{0,62}$/.test(name))
    throw new RangeError("must be a domain, such as sandboxes.example.com")
  return name
}

/** A port, or `off` for one where nothing listens. */
export const portOrOff = (text: string | undefined): number | "off" | undefined =>
  text === "off" ? text : port(text)

/** A number over 0, up to 1. */
export const fraction = (text = "1"): number => {
  const value = Number(text)
  if (!/^\d*\.?\d+$/.test(text) || !(value > 0 && value <= 1))
    throw new RangeError("must be a number over 0, up to 1")
  return value
}

export const word =
  <const Words extends readonly [string, ...string[]]>(...words: Words) =>
  (text: string = words[0]): Words[number] => {
    if (!words.includes(text)) throw new RangeError(`must be one of ${words.join(", ")}`)
    return text
  }

export const optional = (text: string | undefined): string | undefined => text

export const url =
  (...protocols: string[]) =>
  (text: string | undefined): string | undefined => {
    if (text === undefined) return undefined
    const protocol = URL.canParse(text) ? new URL(text).protocol : ""
    if (!protocols.includes(protocol))
      throw new RangeError(`must be a URL that starts with ${protocols.join(" or ")}//`)
    return text.replace(/\/+$/, "")
  }

/** One or several with commas between. */
export const natsUrl = (text: string | undefined): string | undefined => {
  for (const part of text?.split(",") ?? []) url("nats:", "tls:")(part.trim())
  return text
}

export const urlOr =
  (otherwise: string) =>
  (text = otherwise): string =>
    url("http:", "https:")(text) ?? otherwise

export const cidrs = (text = ""): string[] => {
  const list = text.split(",").flatMap(part => part.trim() || [])
  parseCidrs(list)
  return list
}

/** `address` or `address:port`, an IPv6 one before a port in brackets. */
export const nameServers = (text = ""): string[] => {
  const list = text.split(",").flatMap(part => part.trim() || [])
  for (const server of list) {
    try {
      new Resolver().setServers([server])
    } catch {
      throw new RangeError(`names ${server}, which is not an address of a name server`)
    }
  }
  return list
}

/** Where tenant databases run when not on this machine. What the fields mean is the driver's to say. */
export const cluster = (
  path: string | undefined,
): (object & { apiUrl: string; namespace: string }) | undefined => {
  if (path === undefined) return undefined
  try {
    const options = JSON.parse(readFileSync(path, "utf8"))
    if (typeof options.apiUrl === "string" && typeof options.namespace === "string") return options
  } catch (error) {
    throw new RangeError(
      `must name a JSON file that can be read: ${error instanceof Error ? error.message : error}`,
    )
  }
  throw new RangeError("must name a JSON file with at least apiUrl and namespace")
}

/** `teams/cloud/transit/keys/svc` */
export const transitKey = (
  text = "transit/keys/svc",
): { readonly mount: string; readonly keyName: string } => {
  const [, mount, keyName] = /^([\w./-]+)\/keys\/([\w.-]+)$/.exec(text) ?? []
  if (mount === undefined || keyName === undefined) throw new RangeError("must look like transit/keys/svc")
  return { mount, keyName }
}

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

/** Lower case, as OpenSearch wants it. */
export const indexName = (text = "svc-search"): string => {
  if (!/^[a-z0-9][a-z0-9_.-]{0,99}$/.test(text))
    throw new RangeError("must be lower-case letters, digits, _, . and -, at most 100")
  return text
}

const HOST_NAME = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/

/** A name of a host, in lower case. */
export const hostName = (text: string | undefined): string | undefined => {
  if (text === undefined) return undefined
  const name = text.toLowerCase().replace(/\.$/, "")
  if (name.length > 253 || !HOST_NAME.test(name)) throw new RangeError("must be a host name")
  return name
}

/** Terms of an SPF record, without its version and its `all`. */
export const spfTerms = (text: string | undefined): string | undefined => {
  if (text === undefined) return undefined
  const terms = text.trim().toLowerCase().split(/ +/)
  const isTerm = (term: string) => /^(include|a|mx|ip4|ip6|exists)(:[^ "]+)?$/.test(term)
  if (!terms.every(isTerm)) throw new RangeError("must be terms of SPF such as include:spf.example.com")
  return terms.join(" ")
}

export interface SmtpServer {
  readonly host: string
  readonly port: number
  readonly security: "tls" | "starttls" | "opportunistic"
  readonly username: string | null
  readonly password: string | null
}

const LOOPBACK_HOST = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** `smtps:` is TLS from the start. A password crosses the network encrypted, or not at all. */
export const smtpServer = (text: string | undefined): SmtpServer | undefined => {
  if (text === undefined) return undefined
  const parsed = URL.canParse(text) ? new URL(text) : undefined
  if (!parsed || !["smtp:", "smtps:"].includes(parsed.protocol) || parsed.hostname === "")
    throw new RangeError("must be a URL such as smtp://user:password@host:587")
  const { protocol, hostname, port, username, password } = parsed
  const isTls = protocol === "smtps:"
  const mustEncrypt = username !== "" && !LOOPBACK_HOST.test(hostname)
  return {
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(port || (isTls ? 465 : 587)),
    security: isTls ? "tls" : mustEncrypt ? "starttls" : "opportunistic",
    username: username === "" ? null : decodeURIComponent(username),
    password: password === "" ? null : decodeURIComponent(password),
  }
}

export const mailAddress = (text: string | undefined): string | undefined => {
  if (text !== undefined && !/^[\w.+-]+@[a-z0-9-]+(\.[a-z0-9-]+)*$/i.test(text))
    throw new RangeError("must be an e-mail address")
  return text
}

export const uuid = (text: string | undefined): string | undefined => {
  if (text !== undefined && !isUuid(text)) throw new RangeError("must be a UUID")
  return text?.toLowerCase()
}

export const dockerHost = (text = "unix:///var/run/docker.sock"): string => {
  if (!/^(unix:\/\/\/|tcp:\/\/[^/]+:\d+$)/.test(text))
    throw new RangeError("must be unix:///path or tcp://host:port")
  return text
}

/** Names of registries; undefined: any. */
export const registries = (text?: string): readonly string[] | undefined => {
  if (text === undefined || text === "any") return undefined
  const list = text === "none" ? [] : text.split(",").map(part => part.trim().toLowerCase())
  const wrong = list.find(name => parseReference(`${name}/image`)?.registry !== name)
  if (wrong !== undefined)
    throw new RangeError(`names ${wrong}, which is not a registry such as docker.io or ghcr.io`)
  return list
}
