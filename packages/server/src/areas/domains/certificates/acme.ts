/** Has certificates issued by an authority, by ACME (RFC 8555) and requests to the name itself (HTTP-01). */
import { setTimeout as delay } from "node:timers/promises"
import type { Outbound } from "../../../kernel/outbound/outbound.ts"
import type { AccountKey } from "./account.ts"
import { newRequest } from "./request.ts"

export interface Issued {
  /** PEM. */
  readonly chain: string
  readonly privateKey: string
}

export interface Challenge {
  readonly token: string
  /** What must be answered at `/.well-known/acme-challenge/{token}`. */
  readonly answer: string
}

export interface Acme {
  /** `publish` resolves once the challenge is answered. Throws an AcmeError, whose message is for the owner of the name. */
  issue(
    domain: string,
    publish: (challenge: Challenge) => Promise<void>,
    signal: AbortSignal,
  ): Promise<Issued>
}

export class AcmeError extends Error {
  override readonly name = "AcmeError"
}

const ANSWER_BYTES_MAX = 262_144
const NONCE_TRIES = 4
const POLL_MS = 1_000
const POLLS_MAX = 60
const DETAIL_CHARACTERS_MAX = 300

type Json = Readonly<Record<string, unknown>>

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

const jsonOf = ({ text }: Answer): Json => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? (value as Json) : {}
  } catch {
    return {}
  }
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")
const urlsOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(textOf).slice(0, 10) : [])

const problemOf = (answer: Answer): AcmeError => {
  const { detail, type } = jsonOf(answer)
  const reason = textOf(detail) || textOf(type) || `it answered with ${answer.status}`
  return new AcmeError(`The authority refused: ${reason.slice(0, DETAIL_CHARACTERS_MAX)}`)
}

const headerOf = ({ headers }: Answer, name: string): string => [headers[name] ?? ""].flat()[0] ?? ""

interface Directory {
  readonly newNonce: string
  readonly newAccount: string
  readonly newOrder: string
}

export const createAcme = (needs: {
  readonly outbound: Pick<Outbound, "request">
  readonly directoryUrl: string
  readonly email: string | undefined
  readonly key: AccountKey
}): Acme => {
  const { outbound, directoryUrl, email, key } = needs
  let known: { readonly directory: Directory; readonly account: string } | undefined
  let nonce = ""

  const send = async (url: string, options: object, signal: AbortSignal): Promise<Answer> => {
    const answer = await outbound.request({
      ...{ url, signal, responseBytesMax: ANSWER_BYTES_MAX, overflow: "fail" as const },
      ...options,
    })
    if (answer.kind !== "answered") throw new AcmeError(`The authority was not reached. ${answer.message}`)
    const { status, headers, body } = answer
    const read = { status, headers, text: body.toString("utf8") }
    nonce = headerOf(read, "replay-nonce") || nonce
    return read
  }

  /** One request that the account signs; a nonce that got old is no reason to give up. */
  const post = async (
    { directory, account }: { readonly directory: Directory; readonly account: string | undefined },
    url: string,
    payload: Json | "",
    signal: AbortSignal,
  ): Promise<Answer> => {
    for (let tries = 1; ; tries++) {
      if (nonce === "") await send(directory.newNonce, { method: "HEAD" }, signal)
      const own = nonce
      nonce = ""
      const signer = account === undefined ? { jwk: key.jwk } : { kid: account }
      const body = key.sign({ ...signer, nonce: own, url }, payload === "" ? "" : JSON.stringify(payload))
      const headers = { "content-type": "application/jose+json", "user-agent": "svc-acme/1" }
      const answer = await send(url, { method: "POST", headers, body }, signal)
      if (answer.status < 400) return answer
      const isOld = textOf(jsonOf(answer).type).endsWith(":badNonce")
      if (!isOld || tries === NONCE_TRIES) throw problemOf(answer)
    }
  }

  const open = async (signal: AbortSignal) => {
    if (known) return known
    const answer = await send(directoryUrl, {}, signal)
    const { newNonce, newAccount, newOrder } = jsonOf(answer)
    const directory = {
      newNonce: textOf(newNonce),
      newAccount: textOf(newAccount),
      newOrder: textOf(newOrder),
    }
    if (answer.status !== 200 || Object.values(directory).includes("")) throw problemOf(answer)
    const contact = email === undefined ? {} : { contact: [`mailto:${email}`] }
    const made = await post(
      { directory, account: undefined },
      directory.newAccount,
      { termsOfServiceAgreed: true, ...contact },
      signal,
    )
    known = { directory, account: headerOf(made, "location") }
    return known
  }

  const issue: Acme["issue"] = async (domain, publish, signal) => {
    const session = await open(signal)
    const ask = async (url: string, payload: Json | "" = "") => post(session, url, payload, signal)

    /** Waits until it is decided. */
    const settled = async (url: string, undecided: readonly string[]): Promise<Json> => {
      for (let polls = 0; polls < POLLS_MAX; polls++) {
        const answer = await ask(url)
        const state = jsonOf(answer)
        if (!undecided.includes(textOf(state.status))) return state
        await delay(POLL_MS, undefined, { signal })
      }
      throw new AcmeError("The authority did not decide in time.")
    }

    const prove = async (url: string) => {
      const { status, challenges } = jsonOf(await ask(url))
      if (status === "valid") return
      const challenge = (Array.isArray(challenges) ? (challenges as Json[]) : []).find(
        ({ type }) => type === "http-01",
      )
      const token = textOf(challenge?.token)
      if (!/^[\w-]{16,128}$/.test(token)) throw new AcmeError("The authority offers no proof by HTTP.")
      await publish({ token, answer: `${token}.${key.thumbprint}` })
      await ask(textOf(challenge?.url), {})
      const decided = await settled(url, ["pending"])
      if (decided.status === "valid") return
      const failed = (Array.isArray(decided.challenges) ? (decided.challenges as Json[]) : []).find(
        ({ error }) => error !== undefined,
      )
      const { detail } = (failed?.error ?? {}) as Json
      throw new AcmeError(
        `The authority could not verify the domain: ${textOf(detail).slice(0, DETAIL_CHARACTERS_MAX)}`,
      )
    }

    const made = await ask(session.directory.newOrder, { identifiers: [{ type: "dns", value: domain }] })
    const order = headerOf(made, "location")
    for (const url of urlsOf(jsonOf(made).authorizations)) await prove(url)
    await settled(order, ["pending"])
    const { csr, privateKey } = await newRequest(domain)
    await ask(textOf(jsonOf(made).finalize), { csr })
    const done = await settled(order, ["pending", "ready", "processing"])
    if (done.status !== "valid") throw new AcmeError("The authority issued no certificate.")
    return { chain: (await ask(textOf(done.certificate))).text, privateKey }
  }

  return {
    async issue(...given) {
      try {
        return await issue(...given)
      } catch (error) {
        // An authority may have forgotten the account.
        known = undefined
        throw error
      }
    },
  }
}
