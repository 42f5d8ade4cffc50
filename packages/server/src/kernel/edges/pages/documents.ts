/** Replies that stay the same while the process lives: made once, kept compressed, and not sent again unchanged. */
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { gunzip, gzip } from "node:zlib"
import type { FastifyReply, FastifyRequest } from "fastify"

const compress = promisify(gzip)
const expand = promisify(gunzip)

interface CachedDocument {
  readonly etag: string
  readonly gzipped: Buffer
}

export interface KeptDocument {
  /** Answers with the document, or with 304 when the caller has it. */
  send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
}

export interface DocumentSource {
  readonly type: string
  readonly cacheControl: string
  /** Called once, on the first request. */
  readonly load: () => Promise<Buffer>
}

const ACCEPTS = {
  gzip: /(?:^|[,\s])(?:gzip|\*)(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i,
  // Browsers refuse it over plain HTTP from other machines, and do not name it there.
  br: /(?:^|[,\s])br(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i,
} as const

export const accepts = ({ headers }: FastifyRequest, coding: keyof typeof ACCEPTS): boolean =>
  ACCEPTS[coding].test(String(headers["accept-encoding"] ?? ""))

export const hasAlready = ({ headers }: FastifyRequest, etag: string): boolean =>
  (headers["if-none-match"] ?? "").split(",").some(given => given.trim() === etag || given.trim() === "*")

export const createKeptDocument = ({ type, cacheControl, load }: DocumentSource): KeptDocument => {
  let kept: Promise<CachedDocument> | undefined

  const make = async (): Promise<CachedDocument> => {
    const bytes = await load()
    // Weak: the same text may travel compressed or not.
    const etag = `W/"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`
    return { etag, gzipped: await compress(bytes) }
  }

  return {
    async send(request, reply) {
      kept ??= make().catch(error => {
        kept = undefined
        throw error
      })
      const { etag, gzipped } = await kept
      reply.headers({ etag, "cache-control": cacheControl, vary: "accept-encoding" })
      if (hasAlready(request, etag)) return reply.code(304).send()
      reply.type(type)
      if (!accepts(request, "gzip")) return reply.send(await expand(gzipped))
      return reply.header("content-encoding", "gzip").send(gzipped)
    },
  }
}

/** The first of the types that the caller prefers; the first of all when it has no preference among them. */
export const preferred = <const Type extends string>(
  { headers }: FastifyRequest,
  types: readonly [Type, ...Type[]],
): Type => {
  const weights = new Map(
    (headers.accept ?? "").split(",").map(part => {
      const [type = "", ...parameters] = part.split(";").map(piece => piece.trim().toLowerCase())
      const weight = Number(parameters.find(parameter => parameter.startsWith("q="))?.slice(2) ?? 1)
      return [type, Number.isFinite(weight) ? weight : 0] as const
    }),
  )
  const weightOf = (type: string) =>
    weights.get(type) ?? weights.get(`${type.split("/")[0]}/*`) ?? weights.get("*/*") ?? 0
  return types.reduce((best, type) => (weightOf(type) > weightOf(best) ? type : best))
}
