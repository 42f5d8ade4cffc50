/**
 * A repository at any git server, by git's protocol of version 2 over HTTP: which commit a name stands for, and the files
 * of that commit as a pack. Nothing of its history is fetched.
 */
import { createWriteStream } from "node:fs"
import type { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { type Outbound, OutboundError } from "../../../kernel/outbound/outbound.ts"
import { BuildError } from "../build-error.ts"
import { DELIMITER, FLUSH, pktLine, readPktLines } from "./pkt-lines.ts"

const PACK_BYTES_MAX = 1024 ** 3
const TALK_BYTES_MAX = 8 * 1024 ** 2
const TALK_MS_MAX = 60_000
const FETCH_MS_MAX = 3_600_000
const REDIRECTS_MAX = 5
const ADVERTISEMENT = "/info/refs?service=git-upload-pack"
const OID = /^[0-9a-f]{40}$/
const [BAND_DATA, BAND_ERROR] = [1, 3]

export interface Wanted {
  readonly repository: string
  /** A branch, a tag or a whole ref. */
  readonly branch: string | null
  readonly commit: string | null
  readonly token: string | undefined
}

export interface Found {
  readonly commit: string
  /** Null where only the commit was named. */
  readonly branch: string | null
}

/** What opens a private repository. Every provider but one takes a token under this name. */
const authorizationOf = (host: string, token: string): string => {
  const user = host === "bitbucket.org" ? "x-token-auth" : "oauth2"
  const pair = token.includes(":") ? token : `${user}:${token}`
  return `Basic ${Buffer.from(pair).toString("base64")}`
}

const refusalOf = (status: number, hasToken: boolean): BuildError => {
  if (status !== 401 && status !== 403 && status !== 404)
    return new BuildError(`the repository's server answered with ${status}`)
  return new BuildError(
    hasToken
      ? `the repository is not there, or the token does not open it (${status})`
      : `the repository is not there, or it is private and needs \`auth_token\` (${status})`,
  )
}

const namesOf = (branch: string | null): readonly string[] => {
  if (branch === null) return ["HEAD"]
  return branch.startsWith("refs/") ? [branch] : [`refs/heads/${branch}`, `refs/tags/${branch}`]
}

const textOf = (line: Buffer): string => line.toString().replace(/\n$/, "")

const checkError = (text: string) => {
  if (text.startsWith("ERR ")) throw new BuildError(`the repository's server said: ${text.slice(4, 500)}`)
}

export const openRemote = (outbound: Outbound, wanted: Wanted, signal: AbortSignal) => {
  const asked = new URL(wanted.repository)
  const { token } = wanted

  /** The body of an answer; its failures are the build's. */
  const ask = async (request: Parameters<Outbound["open"]>[0]): Promise<{ body: Readable; url: string }> => {
    const isSameHost = new URL(request.url).origin === asked.origin
    const answer = await outbound.open({
      ...{ ...request, signal },
      headers: {
        ...{ "git-protocol": "version=2", "user-agent": "git/2.40 (svc)", ...request.headers },
        ...(token !== undefined && isSameHost && { authorization: authorizationOf(asked.host, token) }),
      },
    })
    if (answer.kind !== "answered")
      throw new BuildError(`the repository cannot be fetched: ${answer.message}`)
    if (answer.status === 200) return answer
    answer.body.destroy()
    throw refusalOf(answer.status, token !== undefined)
  }

  /** Where the repository is, past redirects. */
  const greet = async (): Promise<string> => {
    const address = asked.href.replace(/\/+$/, "")
    const bounds = { timeoutMs: TALK_MS_MAX, responseBytesMax: TALK_BYTES_MAX, redirectsMax: REDIRECTS_MAX }
    const { body, url } = await ask({ url: `${address}${ADVERTISEMENT}`, ...bounds })
    let isSecond = false
    for await (const line of readPktLines(body)) {
      if (line === "marker") continue
      const text = textOf(line)
      checkError(text)
      if (text === "version 2") isSecond = true
      if (text.startsWith("object-format=") && text !== "object-format=sha1")
        throw new BuildError("repositories with names of SHA-256 are not fetched here")
    }
    if (!isSecond) throw new BuildError("the repository's server does not speak version 2 of git's protocol")
    if (!url.endsWith(ADVERTISEMENT)) throw new BuildError("the repository's server redirects to elsewhere")
    return url.slice(0, -ADVERTISEMENT.length)
  }

  const command = async (address: string, lines: readonly string[], bytesMax: number, timeoutMs: number) => {
    const { body } = await ask({
      ...{ url: `${address}/git-upload-pack`, method: "POST", timeoutMs, responseBytesMax: bytesMax },
      headers: {
        "content-type": "application/x-git-upload-pack-request",
        accept: "application/x-git-upload-pack-result",
      },
      body: lines.join(""),
    })
    return body
  }

  const find = async (address: string): Promise<Found> => {
    if (wanted.commit !== null) return { commit: wanted.commit, branch: wanted.branch }
    const names = namesOf(wanted.branch)
    const asks = [...names.map(name => `ref-prefix ${name}`), "peel", "symrefs"].map(text =>
      pktLine(`${text}\n`),
    )
    const lines = [pktLine("command=ls-refs\n"), DELIMITER, ...asks, FLUSH]
    const refs = new Map<string, { readonly commit: string; readonly target: string | undefined }>()
    for await (const line of readPktLines(await command(address, lines, TALK_BYTES_MAX, TALK_MS_MAX))) {
      if (line === "marker") continue
      checkError(textOf(line))
      const [oid = "", name = "", ...more] = textOf(line).split(" ")
      const said = (key: string) => more.find(each => each.startsWith(`${key}:`))?.slice(key.length + 1)
      refs.set(name, { commit: said("peeled") ?? oid, target: said("symref-target") })
    }
    const found = names.map(name => refs.get(name)).find(ref => ref !== undefined)
    if (!found || !OID.test(found.commit))
      throw new BuildError(
        wanted.branch === null ? "the repository is empty" : `the repository has no ${wanted.branch}`,
      )
    return { commit: found.commit, branch: wanted.branch ?? found.target?.replace("refs/heads/", "") ?? null }
  }

  /** The objects of one commit into a file. */
  const fetchPack = async (address: string, commit: string, file: string): Promise<void> => {
    const asks = [`want ${commit}`, "deepen 1", "ofs-delta", "no-progress", "done"]
    const lines = [pktLine("command=fetch\n"), DELIMITER, ...asks.map(text => pktLine(`${text}\n`)), FLUSH]
    const body = await command(address, lines, PACK_BYTES_MAX, FETCH_MS_MAX)
    const pack = async function* () {
      let isPack = false
      for await (const line of readPktLines(body)) {
        if (line === "marker") continue
        if (!isPack) {
          checkError(textOf(line))
          isPack = textOf(line) === "packfile"
          continue
        }
        const [band] = line
        if (band === BAND_ERROR) checkError(`ERR ${textOf(line.subarray(1))}`)
        if (band === BAND_DATA) yield line.subarray(1)
      }
    }
    await pipeline(pack(), createWriteStream(file, { mode: 0o600 }), { signal })
  }

  return {
    /** Throws a BuildError for what the server says or is. */
    async fetch(file: string): Promise<Found> {
      try {
        const address = await greet()
        const found = await find(address)
        await fetchPack(address, found.commit, file)
        return found
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof OutboundError)) throw error
        throw new BuildError(`the repository cannot be fetched: ${error.message}`)
      }
    },
  }
}
