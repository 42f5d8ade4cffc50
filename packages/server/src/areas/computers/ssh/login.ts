/** Lets clients in who hold a key that is on a computer's record. */
import { createHash } from "node:crypto"
import type { AuthContext, PublicKeyAuthContext, utils } from "ssh2"
import type { ComputerRow } from "../store.ts"
import { type LoginName, readLoginName } from "./login-name.ts"
import { isSignedBy } from "./signature.ts"

export interface LoggedIn {
  readonly login: LoginName
  readonly key: Buffer
  /** `several`: more than one computer of that name has this key. */
  readonly computer: ComputerRow | "several"
  /** As it was when the computer was looked for. */
  readonly revision: number
}

export interface LoginNeeds {
  readonly find: (login: LoginName, key: Buffer) => Promise<ComputerRow[]>
  /** Another number each time that keys were taken from a computer. */
  readonly revision: () => number
  /** At once when the computer is found. Rejects where the client must not come in after all. */
  readonly enter: (who: LoggedIn) => Promise<void>
  readonly parseKey: typeof utils.parseKey
  readonly failed: (error: unknown) => void
}

/** Of one connection: of agents with many keys, each is offered and then signed with. */
const TRIES_MAX = 40

export const fingerprintOf = (key: Buffer): string =>
  `SHA256:${createHash("sha256").update(key).digest("base64").replace(/=+$/, "")}`

/** Looks again when keys were taken away meanwhile. */
const search = async ({ find, revision }: LoginNeeds, login: LoginName, key: Buffer) => {
  for (;;) {
    const before = revision()
    const rows = await find(login, key)
    if (revision() === before) return { rows, revision: before }
  }
}

/**
 * Whatever key is offered, the client is asked to sign with it: only who holds a key learns that it opens something, and
 * nobody learns whether a computer exists. The returned function answers one request of a client.
 */
export const createLogin = (needs: LoginNeeds) => {
  let tries = 0

  const identify = async (context: PublicKeyAuthContext): Promise<LoggedIn | undefined> => {
    const login = readLoginName(context.username)
    const key = context.key.data
    if (!login || !isSignedBy(context, needs.parseKey)) return undefined
    const { rows, revision } = await search(needs, login, key)
    const [computer, ...others] = rows
    return computer && { login, key, revision, computer: others.length > 0 ? "several" : computer }
  }

  return async (context: AuthContext): Promise<"in" | "out" | "too many tries"> => {
    tries += 1
    if (tries > TRIES_MAX) return "too many tries"
    if (context.method === "publickey" && !context.signature) {
      context.accept()
      return "out"
    }
    try {
      const who = context.method === "publickey" ? await identify(context) : undefined
      if (who) {
        await needs.enter(who)
        context.accept()
        return "in"
      }
    } catch (error) {
      needs.failed(error)
    }
    context.reject(["publickey"])
    return "out"
  }
}
