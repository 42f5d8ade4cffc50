import { createSvc } from "@svc/sdk"
import { readSecret } from "../confirm.ts"
import { connectWithKey, platformUrl } from "../connect.ts"
import { openKeychain, saveConfiguredUrl } from "../credentials.ts"
import { printFields, printJson } from "../output.ts"
import { UsageError } from "../terminal.ts"
import type { Extra } from "./extra.ts"

/** Keeps a key that the platform accepts. It comes by the prompt or standard input and never by an argument. */
export const login: Extra = async (globals, words, terminal) => {
  if (words.length > 0)
    throw new UsageError("enter the key at the prompt or on standard input, not as an argument")
  const url = await platformUrl(globals, terminal)
  const apiKey = await readSecret(`Key for ${url}:`, terminal)
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new UsageError("that is not a key")

  const { key, organization } = await createSvc({ apiKey, baseUrl: url }).identity.me()
  const keychain = openKeychain(terminal.env)
  await keychain.save(url, apiKey)
  await saveConfiguredUrl(terminal.env, url)
  terminal.err.line(`${url} knows you as ${key?.name ?? "a person"} of ${organization.name}`)
  terminal.err.line(`the key is in ${keychain.name}`)
  return undefined
}

export const logout: Extra = async (globals, _words, terminal) => {
  const url = await platformUrl(globals, terminal)
  const removed = await openKeychain(terminal.env).remove(url)
  terminal.err.line(removed ? `forgot the key for ${url}` : `there is no key for ${url}`)
  return undefined
}

export const whoami: Extra = async (globals, _words, terminal) => {
  const me = await (await connectWithKey(globals, terminal)).identity.me()
  if (globals.json) printJson(me, terminal.out)
  else printFields(me, terminal.out)
  return undefined
}
