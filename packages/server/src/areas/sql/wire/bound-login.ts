/**
 * Logs a client in over TLS that may bind the login to its connection. The proxy ends TLS, so it answers such a client
 * itself, and logs in to the server with the key that the client's proof reveals. A login that is not bound passes
 * through, as every login does without TLS.
 */
import { randomBytes } from "node:crypto"
import type { Socket } from "node:net"
import { WireRefusal } from "./error-response.ts"
import {
  AUTHENTICATION_OK,
  authentication,
  authenticationCode,
  logIn,
  type Message,
  readMessage,
  SASL,
  SASL_FINAL,
  type ScramChallenge,
  type ScramKeys,
} from "./scram.ts"
import {
  type ClientFirst,
  type ClientProof,
  challengeClient,
  keysOfProof,
  readClientFirst,
  serverFinal,
  type Verifier,
} from "./scram-server.ts"

const AUTHENTICATION = 0x52
const ERROR = 0x45
const KEY_BYTES = 32

export interface BoundLogin {
  readonly client: Socket
  readonly server: Socket
  readonly binding: Buffer
  /** What the server keeps of the role's password, if that has this salt; undefined for roles that do not exist. */
  readonly verifierOf: (salt: string) => Promise<Verifier | undefined>
}

/** The server's first message about logging in; what comes before goes to the client. */
const readAsked = async ({ client, server }: BoundLogin): Promise<Message | undefined> => {
  let found = await readMessage(server)
  while (found && found.type !== AUTHENTICATION && found.type !== ERROR) {
    client.write(found.whole)
    found = await readMessage(server)
  }
  return found
}

/** Keys that no password has: the server then refuses in its own words and time. */
const wrongKeys = (): ScramKeys => ({
  clientKey: randomBytes(KEY_BYTES),
  serverKey: randomBytes(KEY_BYTES),
})

const answer = async (login: BoundLogin, first: ClientFirst): Promise<boolean> => {
  const { client, server, binding, verifierOf } = login
  let proven: { readonly proof: ClientProof; readonly keys: ScramKeys } | undefined
  const keysFor = async (challenge: ScramChallenge): Promise<ScramKeys | undefined> => {
    const verifier = await verifierOf(challenge.salt)
    const proof = await challengeClient(client, first, challenge, binding)
    if (!proof) return undefined
    const keys = verifier && keysOfProof(proof, verifier)
    proven = keys && { proof, keys }
    return keys ?? wrongKeys()
  }
  const refused = await logIn(server, keysFor)
  if (refused) {
    client.write(refused)
    return false
  }
  if (!proven) return false
  client.write(authentication(SASL_FINAL, serverFinal(proven.proof, proven.keys)))
  client.write(authentication(AUTHENTICATION_OK))
  return true
}

/**
 * True when the rest, which may still be a part of the login, is between the client and the server; false when the
 * client was told why not, or has gone. Throws a `WireRefusal` for a client that does not keep to the exchange.
 */
export const logInBound = async (login: BoundLogin): Promise<boolean> => {
  const asked = await readAsked(login)
  if (!asked) return false
  const { client, server, binding } = login
  if (authenticationCode(asked) !== SASL) {
    // It lets in without a password, or turns away.
    client.write(asked.whole)
    return true
  }
  const first = await readClientFirst(client, binding)
  if (!first) return false
  if (first.isBound) {
    try {
      return await answer(login, first)
    } catch (error) {
      if (error instanceof WireRefusal) throw error
      // One of the two went away.
      return false
    }
  }
  server.write(first.whole)
  return true
}
