/** Which platform a command talks to, as whom. */
import { createSvc, DEFAULT_BASE_URL, type Svc } from "@svc/sdk"
import type { Globals } from "./arguments.ts"
import { openKeychain, readConfiguredUrl } from "./credentials.ts"
import { keyOf } from "./sign-ins.ts"
import { type Terminal, UsageError } from "./terminal.ts"

export const platformUrl = async (globals: Globals, { env }: Terminal): Promise<string> => {
  const text = globals.url ?? (env.SVC_API_URL || (await readConfiguredUrl(env))) ?? DEFAULT_BASE_URL
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    throw new UsageError(`not an HTTP address: ${text}`)
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`
}

/** `SVC_TOKEN`, or else the key that `svc login` kept for this address. */
export const platformKey = async (url: string, { env }: Terminal): Promise<string | undefined> => {
  if (env.SVC_TOKEN) return env.SVC_TOKEN
  const keychain = openKeychain(env)
  const kept = await keychain.find(url)
  return kept === undefined ? undefined : keyOf(url, kept, keychain)
}

export interface Connection {
  readonly url: string
  readonly hasKey: boolean
  readonly svc: Svc
}

export const connect = async (
  globals: Globals,
  terminal: Terminal,
  retries?: number,
): Promise<Connection> => {
  const url = await platformUrl(globals, terminal)
  const apiKey = await platformKey(url, terminal)
  const svc = createSvc({
    apiKey,
    baseUrl: url,
    project: globals.project ?? (terminal.env.SVC_PROJECT || undefined),
    approvals: globals.wait ? "wait" : "throw",
    numbers: "exact",
    retries,
  })
  return { url, hasKey: apiKey !== undefined, svc }
}

export const NO_KEY = "no key for this server: run svc login, or set SVC_TOKEN"

/** For commands that need a key. */
export const connectWithKey = async (
  globals: Globals,
  terminal: Terminal,
  retries?: number,
): Promise<Svc> => {
  const { svc, hasKey } = await connect(globals, terminal, retries)
  if (!hasKey) throw new UsageError(NO_KEY)
  return svc
}
