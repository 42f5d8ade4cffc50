/**
 * Stands before `s3rver` 3.7.1 and mends what it does not do as S3 does, working on its folder:
 *
 * - it answers a write before the bytes are in its file: the front waits for them;
 * - it knows neither ListMultipartUploads nor AbortMultipartUpload, nor that an upload is gone;
 * - it cannot go on with a list (its tokens need a cipher that Node no longer has): the front pages by markers.
 *
 * That it gives everything when asked for the bytes 0 to 0 is left as it is: clients must expect more than they asked
 * for. It does not check signatures of version 4, only that the access key is its own.
 *
 * And it makes the server fail when a test says so.
 */
import { once } from "node:events"
import { existsSync } from "node:fs"
import { readdir, readFile, rm, stat } from "node:fs/promises"
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { PassThrough } from "node:stream"
import { setTimeout as delay } from "node:timers/promises"

export interface Failure {
  /** An error answer with this status and code. */
  readonly status?: number
  readonly code?: string
  /** Never answers. */
  readonly hang?: true
  /** Of the answer's body, this many bytes, and then a broken connection, or silence. */
  readonly bodyBytes?: number
  readonly then?: "break" | "silence"
  /** Lets the server act, and answers with the error above. */
  readonly late?: true
}

export interface Front extends AsyncDisposable {
  readonly port: number
  /** Decides on every request; undefined lets it pass. */
  failing: (method: string, path: string, query: URLSearchParams) => Failure | undefined
  /** Bytes of request bodies that have come so far. */
  receivedBytes: number
}

interface Server {
  readonly port: number
  /** Of the bucket. */
  readonly folder: string
}

const errorXml = (code: string) =>
  `<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`

const answer = (response: ServerResponse, status: number, body = "") => {
  response.writeHead(status, { "content-type": "application/xml", "content-length": Buffer.byteLength(body) })
  response.end(body)
}

const uploadsOf = (folder: string) => `${folder}/._S3rver_uploads`

/** On a connection of its own: one that was kept may be closed by the server in the moment in which it is used again. */
const ask = ({ port }: Server, { method, headers }: IncomingMessage, path: string | undefined) =>
  request({ port, host: "127.0.0.1", agent: false, method, headers, path })

const waitForBytes = async (path: string, bytes: number): Promise<void> => {
  for (let turn = 0; turn < 10_000; turn += 1) {
    if ((await stat(path).catch(() => undefined))?.size === bytes) return
    await delay(2)
  }
}

/** A page of one, so that there are several. */
const listUploads = async (folder: string, query: URLSearchParams): Promise<string> => {
  const all = (await readdir(uploadsOf(folder)).catch(() => [])).sort()
  const ids = all.filter(id => existsSync(`${uploadsOf(folder)}/${id}/key`))
  const after = query.get("upload-id-marker") ?? ""
  const left = ids.filter(id => id > after)
  const [id] = left
  if (id === undefined)
    return "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>"
  const key = await readFile(`${uploadsOf(folder)}/${id}/key`, "utf8")
  const { mtime } = await stat(`${uploadsOf(folder)}/${id}/key`)
  return `<ListMultipartUploadsResult><IsTruncated>${left.length > 1}</IsTruncated>
    <NextKeyMarker>${key}</NextKeyMarker><NextUploadIdMarker>${id}</NextUploadIdMarker>
    <Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${mtime.toISOString()}</Initiated></Upload>
    </ListMultipartUploadsResult>`
}

/** A hundred keys of a list of version 2, asked for as one of version 1. */
const listObjects = async (server: Server, incoming: IncomingMessage, url: URL) => {
  const query = new URLSearchParams({
    prefix: url.searchParams.get("prefix") ?? "",
    marker: url.searchParams.get("continuation-token") ?? "",
    "max-keys": "100",
  })
  const outgoing = ask(server, incoming, `${url.pathname}?${query}`).end()
  const [answered] = (await once(outgoing, "response")) as [IncomingMessage]
  const xml = Buffer.concat(await answered.toArray()).toString()
  const last = [...xml.matchAll(/<Key>([^<]*)<\/Key>/g)].at(-1)?.[1] ?? ""
  const token = `<NextContinuationToken>${last}</NextContinuationToken>`
  return { status: answered.statusCode ?? 500, xml: xml.replace("</IsTruncated>", `</IsTruncated>${token}`) }
}

/** The file that a write makes, and its length. */
const expectedFile = async (
  incoming: IncomingMessage,
  folder: string,
  path: string,
  query: URLSearchParams,
) => {
  const key = decodeURIComponent(path.split("/").slice(2).join("/"))
  const length = Number(incoming.headers["content-length"] ?? 0)
  const uploadId = query.get("uploadId")
  const upload = `${uploadsOf(folder)}/${uploadId}`
  if (incoming.method === "PUT")
    return uploadId
      ? { path: `${upload}/${query.get("partNumber")}`, length }
      : { path: `${folder}/${key}._S3rver_object`, length }
  if (incoming.method !== "POST" || !uploadId) return undefined
  const parts = (await readdir(upload)).filter(name => /^\d+$/.test(name))
  const lengths = await Promise.all(parts.map(async part => (await stat(`${upload}/${part}`)).size))
  return { path: `${folder}/${key}._S3rver_object`, length: lengths.reduce((sum, length) => sum + length, 0) }
}

const passBody = (from: IncomingMessage, to: ServerResponse, failure: Failure | undefined) => {
  const { bodyBytes, then } = failure ?? {}
  if (bodyBytes === undefined) return void from.pipe(to)
  from.once("data", (chunk: Buffer) => {
    from.pause()
    to.write(chunk.subarray(0, bodyBytes), () => {
      if (then === "break") to.destroy()
    })
  })
}

const forward = async (
  server: Server,
  incoming: IncomingMessage,
  counter: PassThrough,
  response: ServerResponse,
  failure: Failure | undefined,
) => {
  const url = new URL(incoming.url ?? "", "http://front")
  const expected = await expectedFile(incoming, server.folder, url.pathname, url.searchParams)
  const outgoing = ask(server, incoming, incoming.url)
  outgoing.on("error", () => response.destroy())
  incoming.pipe(counter).pipe(outgoing)
  const [answered] = (await once(outgoing, "response")) as [IncomingMessage]
  if (expected && answered.statusCode === 200) await waitForBytes(expected.path, expected.length)
  if (failure?.late) {
    answered.resume()
    return answer(response, failure.status ?? 500, errorXml(failure.code ?? "InternalError"))
  }
  response.on("close", () => answered.destroy())
  answered.on("error", () => response.destroy())
  response.writeHead(answered.statusCode ?? 500, answered.headers)
  response.flushHeaders()
  passBody(answered, response, failure)
}

export const startFront = async (behind: Server): Promise<Front> => {
  const { folder } = behind
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(incoming.url ?? "", "http://front")
    const { searchParams: query, pathname } = url
    const failure = front.failing(incoming.method ?? "", pathname, query)
    if (failure?.hang) return
    if (failure?.status !== undefined && !failure.late) {
      incoming.resume()
      return answer(response, failure.status, errorXml(failure.code ?? "InternalError"))
    }
    if (query.has("uploads") && incoming.method === "GET")
      return answer(response, 200, await listUploads(folder, query))
    if (query.has("list-type")) {
      const { status, xml } = await listObjects(behind, incoming, url)
      return answer(response, status, xml)
    }
    const uploadId = query.get("uploadId")
    if (uploadId !== null) {
      const upload = `${uploadsOf(folder)}/${uploadId}`
      if (!existsSync(`${upload}/key`)) {
        incoming.resume()
        return answer(response, 404, errorXml("NoSuchUpload"))
      }
      if (incoming.method === "DELETE") {
        // Only what makes it known: a part that is still under way goes on to write into the folder.
        await rm(`${upload}/key`, { force: true })
        return answer(response, 204)
      }
    }
    const passed = new PassThrough({
      transform(chunk: Buffer, _encoding, done) {
        front.receivedBytes += chunk.length
        done(null, chunk)
      },
    })
    await forward(behind, incoming, passed, response, failure)
  }

  const server = createServer((incoming, response) => {
    serve(incoming, response).catch(() => response.destroy())
  })
  // Client and front share a process: after it was held up, both would find their idle connections too old at once.
  server.keepAliveTimeout = 60_000
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const front: Front = {
    port: (server.address() as AddressInfo).port,
    failing: () => undefined,
    receivedBytes: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
  return front
}
