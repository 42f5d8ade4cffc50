import { type areas, REGISTRY_MANIFEST_BYTES_MAX, REGISTRY_PAGE_MAX } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Database } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import type { Handlers } from "../../kernel/implement.ts"
import { ISOLATION } from "./blob-handlers.ts"
import { pathFor } from "./paths.ts"
import { algorithmOf, digestOf, isDigest } from "./rules/digests.ts"
import { readManifest } from "./rules/manifest.ts"
import * as manifests from "./store/manifests.ts"
import { ensureRepository, findRepository, listRepositories } from "./store/repositories.ts"
import { locationOf, placeOf } from "./upload-handlers.ts"

type ManifestOperation =
  | "catalog"
  | "getManifest"
  | "headManifest"
  | "putManifest"
  | "deleteManifest"
  | "listTags"
  | "referrers"
export type ManifestHandlers = Pick<Handlers<(typeof areas.registry)["specs"]>, ManifestOperation>

const INDEX = "application/vnd.oci.image.index.v1+json"
/** Of annotations in one page of referrers. */
const ANNOTATIONS_MAX = 1024 ** 2

const readBody = async (call: Call): Promise<Buffer> => {
  const tooLarge = () => fault("payload_too_large", { bytes: REGISTRY_MANIFEST_BYTES_MAX })
  if (Number(call.header("content-length") ?? 0) > REGISTRY_MANIFEST_BYTES_MAX) throw tooLarge()
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of call.stream) {
    bytes += (chunk as Buffer).length
    if (bytes > REGISTRY_MANIFEST_BYTES_MAX) throw tooLarge()
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks)
}

const setHeaders = (call: Call, headers: Readonly<Record<string, string>>) => {
  for (const [name, value] of Object.entries(headers)) call.setHeader(name, value)
}

const headersOf = ({ digest, media_type, bytes }: manifests.ManifestRow) => ({
  ...ISOLATION,
  "content-type": media_type,
  "content-length": String(bytes),
  "docker-content-digest": digest,
  etag: `"${digest}"`,
})

/** Says where the next page is, in the words of RFC 8288. */
const linkNext = (call: Call, path: string, query: Readonly<Record<string, string>>) =>
  call.setHeader("link", `<${pathFor(call.target, path)}?${new URLSearchParams(query)}>; rel="next"`)

const requireRepository = async (db: Database["db"], projectId: string, repository: string) => {
  const repositoryId = await findRepository(db, { projectId, repository })
  if (repositoryId === undefined) throw fault("repository_not_found", { name: `${projectId}/${repository}` })
  return { projectId, repositoryId }
}

export const manifestHandlers = ({ database }: { readonly database: Database }): ManifestHandlers => {
  const { db, transaction } = database
  return {
    async catalog({ n: limit = REGISTRY_PAGE_MAX, last = "" }, call) {
      const { projectId } = call.projectTenant
      const own = `${projectId}/`
      const after = last.startsWith(own) ? last.slice(own.length) : last
      const found = await listRepositories(db, { projectId, last: after, limit: limit + 1 })
      const repositories = found.slice(0, limit).map(name => own + name)
      const end = repositories.at(-1)
      if (found.length > limit && end !== undefined)
        linkNext(call, "/_catalog", { n: String(limit), last: end })
      return { repositories }
    },

    async getManifest({ repository, reference }, call) {
      const { projectId } = call.projectTenant
      const row = await manifests.readContent(db, projectId, repository, reference)
      setHeaders(call, headersOf(row))
      return row.content
    },

    async headManifest({ repository, reference }, call) {
      const { projectId } = call.projectTenant
      setHeaders(call, headersOf(await manifests.findManifest(db, projectId, repository, reference)))
    },

    async putManifest({ repository, reference }, call) {
      const place = placeOf(call, repository)
      const content = await readBody(call)
      const manifest = readManifest(content, call.header("content-type") ?? "")
      const named = isDigest(reference) ? reference : undefined
      const digest = digestOf(named === undefined ? "sha256" : algorithmOf(named), content)
      if (named !== undefined && named !== digest) throw fault("digest_mismatch", { digest })
      await transaction(async tx => {
        const repositoryId = await ensureRepository(tx, place, call.now)
        const given = { digest, content, manifest, tag: named === undefined ? reference : undefined }
        await manifests.putManifest(tx, { projectId: place.projectId, repositoryId }, given, call.now)
      })
      call.describe({
        targets: [{ type: "image", id: digest, name: `${repository}${named ? "@" : ":"}${reference}` }],
      })
      setHeaders(call, {
        location: locationOf(call, place, `manifests/${digest}`),
        "docker-content-digest": digest,
        ...(manifest.subject !== null && { "oci-subject": manifest.subject }),
      })
    },

    async deleteManifest({ repository, reference }, call) {
      const { projectId } = call.projectTenant
      const place = await requireRepository(db, projectId, repository)
      if (!(await transaction(tx => manifests.deleteManifest(tx, place, reference))))
        throw manifests.manifestNotFound(reference)
      call.describe({ targets: [{ type: "image", id: reference, name: repository }] })
    },

    async listTags({ repository, n: limit = REGISTRY_PAGE_MAX, last = "" }, call) {
      const { projectId } = call.projectTenant
      const place = await requireRepository(db, projectId, repository)
      const found = await manifests.listTags(db, place, { last, limit: limit + 1 })
      const tags = found.slice(0, limit)
      const end = tags.at(-1)
      const name = `${projectId}/${repository}`
      if (found.length > limit && end !== undefined)
        linkNext(call, `/${name}/tags/list`, { n: String(limit), last: end })
      return { name, tags }
    },

    async referrers({ repository, digest, artifactType, n: limit = REGISTRY_PAGE_MAX, last = "" }, call) {
      const { projectId } = call.projectTenant
      const place = await requireRepository(db, projectId, repository)
      const asked = { subject: digest, artifactType, charactersMax: ANNOTATIONS_MAX }
      const { rows, isCut } = await manifests.listReferrers(db, place, asked, { last, limit: limit + 1 })
      const page = rows.slice(0, limit)
      const end = page.at(-1)
      if ((isCut || rows.length > limit) && end)
        linkNext(call, `/${projectId}/${repository}/referrers/${digest}`, {
          n: String(limit),
          last: end.digest,
          ...(artifactType !== undefined && { artifactType }),
        })
      setHeaders(call, {
        "content-type": INDEX,
        ...(artifactType !== undefined && { "oci-filters-applied": "artifactType" }),
      })
      const listed = page.map(({ digest, media_type, bytes, artifact_type, annotations }) => ({
        mediaType: media_type,
        digest,
        size: bytes,
        ...(artifact_type !== null && { artifactType: artifact_type }),
        ...(annotations !== null && { annotations: JSON.parse(annotations) as unknown }),
      }))
      return Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: listed }))
    },
  }
}
