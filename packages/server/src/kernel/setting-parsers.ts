/** How the values of settings are read. Each throws a RangeError that says what the value must be. */
import { Resolver } from "node:dns"
import { parseCidrs } from "./edges/client-address.ts"
import { isUuid } from "./id.ts"

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

const HOST_NAME = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/

/** A name of a host, in lower case. */
export const hostName = (text: string | undefined): string | undefined => {
  if (text === undefined) return undefined
  const name = text.toLowerCase().replace(/\.$/, "")
  if (name.length > 253 || !HOST_NAME.test(name)) throw new RangeError("must be a host name")
  return name
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
