import { createSvc } from "@svc/sdk"
import type { Flags, OwnFlags } from "../arguments.ts"
import { browserOf } from "../browser.ts"
import { readSecret } from "../confirm.ts"
import { connectWithKey, platformUrl } from "../connect.ts"
import { openKeychain, saveConfiguredUrl } from "../credentials.ts"
import { printFields, printJson } from "../output.ts"
import { endSignIn, writeSignIn } from "../sign-ins.ts"
import { type Terminal, UsageError } from "../terminal.ts"
import type { Extra } from "./extra.ts"
import { signInByBrowser, signInByCode } from "./sign-in.ts"

export const loginFlags: OwnFlags = {
  browser: { type: "boolean", about: "Sign in on a page in this machine's browser" },
  device: { type: "boolean", about: "Sign in on another machine, with a code that is entered there" },
  key: { type: "boolean", about: "Ask for a key instead" },
  scope: { type: "string", about: "Scopes to ask for, with spaces between them; all when left out" },
}

export const loginUsage = `svc login                in the browser; with a code where there is none
svc login --device       with a code that is entered in a browser elsewhere
svc login --key          with a key, asked for at the prompt
svc login < key.txt      with a key from standard input`

type Way = "browser" | "device" | "key"

/** What was asked for, else the handiest. Whoever pipes something in pipes a key. */
const wayOf = (flags: Flags, { env, stdin }: Terminal): Way => {
  const named = (["browser", "device", "key"] as const).filter(way => flags[way])
  if (named.length > 1) throw new UsageError("choose one of --browser, --device and --key")
  if (named[0]) return named[0]
  if (!stdin.isTTY) return "key"
  return browserOf(env) ? "browser" : "device"
}

const askKey = async (url: string, terminal: Terminal) => {
  const apiKey = await readSecret(`Key for ${url}:`, terminal)
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new UsageError("that is not a key")
  return { apiKey, kept: apiKey }
}

const obtain = async (way: Way, url: string, flags: Flags, terminal: Terminal) => {
  if (way === "key") return askKey(url, terminal)
  const asked = { url, scope: typeof flags.scope === "string" ? flags.scope : undefined }
  const signIn = await (way === "browser" ? signInByBrowser : signInByCode)(asked, terminal)
  return { apiKey: signIn.access_token, kept: writeSignIn(signIn) }
}

/**
 * Keeps what a person signed in with, or a key that the platform accepts. A key comes by the prompt or standard input and
 * never by an argument.
 */
export const login: Extra = async (globals, words, terminal, flags) => {
  if (words.length > 0)
    throw new UsageError("enter the key at the prompt or on standard input, not as an argument")
  const url = await platformUrl(globals, terminal)
  const way = wayOf(flags, terminal)
  const { apiKey, kept } = await obtain(way, url, flags, terminal)
  const { key, organization } = await createSvc({ apiKey, baseUrl: url }).identity.me()
  const keychain = openKeychain(terminal.env)
  await keychain.save(url, kept)
  await saveConfiguredUrl(terminal.env, url)
  terminal.err.line(`${url} knows you as ${key?.name ?? "a person"} of ${organization.name}`)
  terminal.err.line(`the ${way === "key" ? "key" : "sign-in"} is in ${keychain.name}`)
  return undefined
}

export const logout: Extra = async (globals, _words, terminal) => {
  const url = await platformUrl(globals, terminal)
  const keychain = openKeychain(terminal.env)
  const kept = await keychain.find(url)
  if (kept !== undefined) await endSignIn(url, kept)
  const removed = await keychain.remove(url)
  terminal.err.line(removed ? `forgot the key for ${url}` : `there is no key for ${url}`)
  return undefined
}

export const whoami: Extra = async (globals, _words, terminal) => {
  const me = await (await connectWithKey(globals, terminal)).identity.me()
  if (globals.json) printJson(me, terminal.out)
  else printFields(me, terminal.out)
  return undefined
}
