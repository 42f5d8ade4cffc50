/** A server's side of SCRAM-SHA-256 and SCRAM-SHA-256-PLUS, for the proxy to check passwords itself. */
import { randomBytes, timingSafeEqual } from "node:crypto"
import type { Duplex } from "node:stream"
import { SQLSTATE, WireRefusal } from "./error-response.ts"
import {
  attributesOf,
  authentication,
  hmac,
  MECHANISM,
  type Message,
  readMessage,
  SASL,
  SASL_CONTINUE,
  type ScramChallenge,
  type ScramKeys,
  sha256,
  xor,
} from "./scram.ts"

const MECHANISM_PLUS = `${MECHANISM}-PLUS`
const PASSWORD = 0x70
const NONCE_BYTES = 18
/** The only binding that PostgreSQL has. */
const BOUND = "p=tls-server-end-point"

/** The client's first message. */
export interface ClientFirst {
  readonly isBound: boolean
  /** Its header, which its last message repeats. */
  readonly header: string
  /** The rest, which is signed. */
  readonly bare: string
  readonly nonce: string
  /** As it came, to be sent on. */
  readonly whole: Buffer
}

/** What the client answered to a challenge. */
export interface ClientProof {
  readonly signed: string
  readonly proof: Buffer
}

export interface Verifier extends ScramChallenge {
  readonly storedKey: Buffer
  readonly serverKey: Buffer
}

const VERIFIER = /^SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):(.+)$/

/** Reads `SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>`. */
export const parseVerifier = (text: string): Verifier | undefined => {
  const [, iterations, salt, storedKey, serverKey] = VERIFIER.exec(text) ?? []
  if (salt === undefined || storedKey === undefined || serverKey === undefined) return undefined
  return {
    iterations: Number(iterations),
    salt,
    storedKey: Buffer.from(storedKey, "base64"),
    serverKey: Buffer.from(serverKey, "base64"),
  }
}

const violation = (message: string): WireRefusal =>
  new WireRefusal({ sqlstate: SQLSTATE.protocolViolation, message })

const HEADER = /^(n|y|p=[^,]*),([^,]*),(.*)$/s
const NONCE = /^n=[^,]*,r=([\x21-\x2b\x2d-\x7e]+)/

/** Throws a `WireRefusal` for what PostgreSQL refuses too. */
const parseFirst = ({ payload, whole }: Message, canBind: boolean): ClientFirst => {
  const end = payload.indexOf(0)
  const mechanism = payload.toString("latin1", 0, Math.max(end, 0))
  const isBound = mechanism === MECHANISM_PLUS
  if (mechanism !== MECHANISM && !(isBound && canBind))
    throw violation("client selected an invalid SASL authentication mechanism")
  const [, flag = "", authorization, bare = ""] = HEADER.exec(payload.toString("latin1", end + 5)) ?? []
  const nonce = NONCE.exec(bare)?.[1]
  const header = `${flag},${authorization},`
  if (nonce === undefined || authorization !== "" || isBound !== (flag === BOUND))
    throw violation("malformed SCRAM message")
  // Somebody between took the offer away that the client would have chosen.
  if (flag === "y" && canBind) throw violation("SCRAM channel binding negotiation error")
  return { isBound, header, bare, nonce, whole }
}

/** Offers the mechanisms; undefined when the client went away. `binding` is that of its TLS connection. */
export const readClientFirst = async (
  client: Duplex,
  binding: Buffer | undefined,
): Promise<ClientFirst | undefined> => {
  const offered = binding ? `${MECHANISM_PLUS}\0${MECHANISM}\0\0` : `${MECHANISM}\0\0`
  client.write(authentication(SASL, offered))
  const first = await readMessage(client)
  return first?.type === PASSWORD ? parseFirst(first, binding !== undefined) : undefined
}

/** Sends the challenge; undefined when the client went away. Throws a `WireRefusal` when it is bound to something else. */
export const challengeClient = async (
  client: Duplex,
  first: ClientFirst,
  { salt, iterations }: ScramChallenge,
  binding: Buffer | undefined,
): Promise<ClientProof | undefined> => {
  const nonce = `${first.nonce}${randomBytes(NONCE_BYTES).toString("base64")}`
  const challenge = `r=${nonce},s=${salt},i=${iterations}`
  client.write(authentication(SASL_CONTINUE, challenge))
  const last = await readMessage(client)
  if (last?.type !== PASSWORD) return undefined
  const text = last.payload.toString("latin1")
  const withoutProof = text.slice(0, Math.max(0, text.lastIndexOf(",p=")))
  const attributes = attributesOf(withoutProof)
  const bound = Buffer.concat([
    Buffer.from(first.header),
    first.isBound && binding ? binding : Buffer.alloc(0),
  ])
  if (attributes.get("r") !== nonce) throw violation("malformed SCRAM message")
  if (attributes.get("c") !== bound.toString("base64")) {
    const message = first.isBound
      ? "SCRAM channel binding check failed"
      : "unexpected SCRAM channel-binding attribute in client-final-message"
    throw new WireRefusal({ sqlstate: SQLSTATE.notAuthorized, message })
  }
  const proof = Buffer.from(text.slice(withoutProof.length + 3), "base64")
  return { signed: `${first.bare},${challenge},${withoutProof}`, proof }
}

/** The keys that a right proof reveals; undefined for a wrong one. */
export const keysOfProof = (
  { signed, proof }: ClientProof,
  { storedKey, serverKey }: Verifier,
): ScramKeys | undefined => {
  if (proof.length !== storedKey.length) return undefined
  const clientKey = xor(proof, hmac(storedKey, signed))
  return timingSafeEqual(sha256(clientKey), storedKey) ? { clientKey, serverKey } : undefined
}

/** By which the client knows that the server has the password too. */
export const serverFinal = ({ signed }: ClientProof, { serverKey }: ScramKeys): string =>
  `v=${hmac(serverKey, signed).toString("base64")}`
