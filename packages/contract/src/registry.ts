/** Images of containers and other artifacts, by the OCI distribution specification 1.1. */
import { area, MIB, T } from "./dsl.ts"
import { FIELD_FAULT, Id } from "./types.ts"

/** Largest blob, as a layer of an image. */
export const REGISTRY_BLOB_BYTES_MAX = 64 * 1024 ** 3
/** Largest manifest; the distribution specification asks for as much at least. */
export const REGISTRY_MANIFEST_BYTES_MAX = 4 * MIB
/** Names, tags and referrers of one page. */
export const REGISTRY_PAGE_MAX = 1_000
/** Uploads that a project may have under way. */
export const REGISTRY_UPLOADS_MAX = 1_000
/** Repositories of a project. */
export const REGISTRY_REPOSITORIES_MAX = 10_000
/** After this time without bytes an upload is over. */
export const REGISTRY_UPLOAD_HOURS = 24
/** For so long blobs are kept that no manifest refers to, since they were last pushed or asked for. */
export const REGISTRY_UNREFERENCED_HOURS = 24

const DIGEST = "(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})"
const TAG = "[A-Za-z0-9_][A-Za-z0-9._-]{0,127}"
const PART = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*"

const Repository = T.String({
  minLength: 1,
  maxLength: 200,
  pattern: `^${PART}(?:/${PART})*$`,
  description: "Name of the repository within the project; it may contain slashes",
  [FIELD_FAULT]: "repository_name_invalid",
})
const digestField = {
  pattern: `^${DIGEST}$`,
  maxLength: 135,
  description: "Digest of the content, as `sha256:` or `sha512:` and the hash in hexadecimal",
  [FIELD_FAULT]: "digest_invalid",
}
const Digest = T.String(digestField)
const reference = (code: "manifest_not_found" | "manifest_invalid") =>
  T.String({
    pattern: `^(?:${TAG}|${DIGEST})$`,
    maxLength: 135,
    description: "A tag, or the digest of the manifest",
    [FIELD_FAULT]: code,
  })

const InRepository = { project_id: Id, repository: Repository }
const OfBlob = T.Object({ ...InRepository, digest: Digest })
// Ids first: codes for those that do not exist are assigned in this order.
const OfUpload = T.Object({
  project_id: Id,
  upload_id: T.String({ format: "uuid", description: "UUID of the upload" }),
  repository: Repository,
})
const OfManifest = T.Object({ ...InRepository, reference: reference("manifest_not_found") })

const pageQuery = (last: string) => ({
  n: T.Optional(
    T.Integer({
      minimum: 0,
      maximum: REGISTRY_PAGE_MAX,
      description: "Largest number of entries in the reply; the header `Link` names the next page",
    }),
  ),
  last: T.Optional(T.String({ maxLength: 300, description: last })),
})

/** What the protocol defines, in the media type that was pushed. */
const Foreign = T.Unknown()
const ANY = ["application/octet-stream", "*/*"] as const
const bytesIn = { request: "bytes", requestTypes: ANY } as const
const bytesOut = { reply: "bytes", replyTypes: ["application/octet-stream", "*/*"] } as const

const pulls = { scope: "registry:pull", effect: "read" } as const
const pushes = {
  scope: "registry:push",
  effect: "write",
  transaction: "none",
  audit: "rollup",
  idempotency: "natural",
} as const

const DIGEST_HEADER = "`Docker-Content-Digest` is its digest."

export const registry = area(
  "registry",
  {
    title: "Registry",
    summary:
      "Repositories of container images and other OCI artifacts, for Docker, Podman, skopeo and the like",
    project: "required",
    belongs: "project",
    envelope: "oci",
    pathProject: "repository_not_found",
  },
  {
    version: {
      ...pulls,
      id: "registryVersionCheck",
      http: "GET /v1/registry/v2/",
      summary: "Check that the registry speaks version 2 of the protocol and that it takes the credentials",
      description:
        "Every path below `/v1/registry/v2/` is also served below `/v2/`, where clients look for it. They sign in with any user " +
        "name and an API key as the password.",
      project: "optional",
      scope: ["registry:pull", "registry:push"],
      replies: { 200: T.Object({}) },
    },
    catalog: {
      ...pulls,
      id: "getRegistryCatalog",
      http: "GET /v1/registry/v2/_catalog",
      summary: "List the repositories of the project",
      query: T.Object(pageQuery("Repositories after this name, as the reply before has it last")),
      replies: {
        200: T.Object({
          repositories: T.Array(T.String(), {
            description: "Names in alphabetical order, each with the project's id in front",
          }),
        }),
      },
    },
    getBlob: {
      ...pulls,
      id: "getRegistryBlob",
      http: "GET /v1/registry/v2/{project_id}/{repository}/blobs/{digest}",
      summary: "Read a blob, such as a layer of an image, or a range of its bytes",
      params: OfBlob,
      headers: T.Object({
        Range: T.Optional(T.String({ description: "Range of bytes, as `bytes=0-1023`" })),
      }),
      content: { reply: "bytes" },
      replies: { 200: Foreign, 206: Foreign },
      faults: [
        ...(["repository_not_found", "blob_not_found", "repository_name_invalid"] as const),
        ...(["digest_invalid", "range_not_satisfiable"] as const),
      ],
    },
    headBlob: {
      ...pulls,
      id: "headRegistryBlob",
      http: "HEAD /v1/registry/v2/{project_id}/{repository}/blobs/{digest}",
      summary: "Check whether a blob is in the repository, and its size",
      params: OfBlob,
      replies: { 200: null },
      faults: ["repository_not_found", "blob_not_found", "repository_name_invalid", "digest_invalid"],
    },
    deleteBlob: {
      ...pushes,
      extension: true,
      id: "deleteRegistryBlob",
      http: "DELETE /v1/registry/v2/{project_id}/{repository}/blobs/{digest}",
      summary: "Delete a blob that no manifest of the repository refers to",
      effect: "destroy",
      params: OfBlob,
      replies: { 202: null },
      faults: [
        ...(["repository_not_found", "blob_not_found", "repository_name_invalid"] as const),
        ...(["digest_invalid", "blob_in_use"] as const),
      ],
    },
    startUpload: {
      ...pushes,
      id: "startRegistryBlobUpload",
      http: "POST /v1/registry/v2/{project_id}/{repository}/blobs/uploads/",
      summary: "Begin to upload a blob; `Location` is where its bytes are sent",
      description:
        "With `digest` the body is the whole blob. With `mount` a blob of another repository of the project becomes one of this " +
        "repository as well, without being sent. Both answer 201; if the other repository does not have the blob, an upload " +
        "begins.",
      params: T.Object(InRepository),
      query: T.Object({
        digest: T.Optional(Digest),
        mount: T.Optional(Digest),
        from: T.Optional(
          T.String({
            maxLength: 300,
            description: "Repository that has the blob of `mount`, with the project's id in front",
          }),
        ),
      }),
      content: bytesIn,
      bodyBytesMax: REGISTRY_BLOB_BYTES_MAX,
      replies: { 201: null, 202: null },
      faults: [
        ...(["repository_not_found", "repository_name_invalid", "digest_invalid"] as const),
        ...(["digest_mismatch", "plan_limit_reached"] as const),
      ],
    },
    getUpload: {
      extension: true,
      scope: "registry:push",
      effect: "read",
      id: "getRegistryBlobUpload",
      http: "GET /v1/registry/v2/{project_id}/{repository}/blobs/uploads/{upload_id}",
      summary: "Read how many bytes of an upload have arrived: the header `Range`",
      params: OfUpload,
      replies: { 204: null },
      faults: ["repository_not_found", "image_upload_not_found", "repository_name_invalid"],
    },
    patchUpload: {
      ...pushes,
      extension: true,
      id: "patchRegistryBlobUpload",
      http: "PATCH /v1/registry/v2/{project_id}/{repository}/blobs/uploads/{upload_id}",
      summary: "Send the next bytes of an upload",
      description:
        "What has arrived is kept if the connection breaks: `GET` of the same path says where to go on. `Content-Range` is " +
        "checked if it is sent.",
      params: OfUpload,
      content: bytesIn,
      bodyBytesMax: REGISTRY_BLOB_BYTES_MAX,
      replies: { 202: null },
      faults: [
        ...(["repository_not_found", "image_upload_not_found", "repository_name_invalid"] as const),
        ...(["upload_range_invalid", "conflict"] as const),
      ],
    },
    finishUpload: {
      ...pushes,
      extension: true,
      id: "finishRegistryBlobUpload",
      http: "PUT /v1/registry/v2/{project_id}/{repository}/blobs/uploads/{upload_id}",
      summary: "Complete an upload, with its last bytes if some are left",
      params: OfUpload,
      query: T.Object({ digest: Digest }),
      content: bytesIn,
      bodyBytesMax: REGISTRY_BLOB_BYTES_MAX,
      replies: { 201: null },
      faults: [
        ...(["repository_not_found", "image_upload_not_found", "repository_name_invalid"] as const),
        ...(["digest_invalid", "digest_mismatch", "upload_range_invalid"] as const),
        "conflict",
      ],
    },
    cancelUpload: {
      ...pushes,
      extension: true,
      id: "cancelRegistryBlobUpload",
      http: "DELETE /v1/registry/v2/{project_id}/{repository}/blobs/uploads/{upload_id}",
      summary: "Cancel an upload and drop its bytes",
      effect: "destroy",
      params: OfUpload,
      replies: { 204: null },
      faults: ["repository_not_found", "image_upload_not_found", "repository_name_invalid"],
    },
    getManifest: {
      ...pulls,
      id: "getRegistryManifest",
      http: "GET /v1/registry/v2/{project_id}/{repository}/manifests/{reference}",
      summary: "Read a manifest by its tag or digest, exactly as it was pushed",
      description: DIGEST_HEADER,
      params: OfManifest,
      content: bytesOut,
      replies: { 200: Foreign },
      faults: ["repository_not_found", "manifest_not_found", "repository_name_invalid"],
    },
    headManifest: {
      ...pulls,
      id: "headRegistryManifest",
      http: "HEAD /v1/registry/v2/{project_id}/{repository}/manifests/{reference}",
      summary: "Read the digest, size and media type of a manifest",
      description: DIGEST_HEADER,
      params: OfManifest,
      replies: { 200: null },
      faults: ["repository_not_found", "manifest_not_found", "repository_name_invalid"],
    },
    putManifest: {
      ...pushes,
      audit: "each",
      id: "putRegistryManifest",
      http: "PUT /v1/registry/v2/{project_id}/{repository}/manifests/{reference}",
      summary: "Push a manifest, by a tag or by its digest",
      description:
        "Blobs and manifests that it refers to must be in the repository, except layers that are found elsewhere by their " +
        "`urls` and the manifest that `subject` names.",
      params: T.Object({ ...InRepository, reference: reference("manifest_invalid") }),
      content: { ...bytesIn, bytesRequired: true },
      bodyBytesMax: REGISTRY_MANIFEST_BYTES_MAX,
      replies: { 201: null },
      faults: [
        ...(["repository_not_found", "repository_name_invalid", "manifest_invalid"] as const),
        ...(["manifest_blob_unknown", "digest_mismatch", "plan_limit_reached"] as const),
      ],
    },
    deleteManifest: {
      ...pushes,
      audit: "each",
      id: "deleteRegistryManifest",
      http: "DELETE /v1/registry/v2/{project_id}/{repository}/manifests/{reference}",
      summary: "Delete a tag, or by its digest a manifest with all of its tags",
      effect: "destroy",
      params: OfManifest,
      replies: { 202: null },
      faults: ["repository_not_found", "manifest_not_found", "repository_name_invalid"],
    },
    listTags: {
      ...pulls,
      id: "listRegistryTags",
      http: "GET /v1/registry/v2/{project_id}/{repository}/tags/list",
      summary: "List the tags of a repository",
      params: T.Object(InRepository),
      query: T.Object(pageQuery("Tags after this one, as the reply before has it last")),
      replies: {
        200: T.Object({
          name: T.String({ description: "The repository, with the project's id in front" }),
          tags: T.Array(T.String(), { description: "In alphabetical order" }),
        }),
      },
      faults: ["repository_not_found", "repository_name_invalid"],
    },
    referrers: {
      ...pulls,
      extension: true,
      id: "listRegistryReferrers",
      http: "GET /v1/registry/v2/{project_id}/{repository}/referrers/{digest}",
      summary: "List the manifests whose subject is the one of this digest, such as signatures",
      description:
        "The reply is an image index. It is empty for a digest that nothing refers to, whether it exists or not.",
      params: OfBlob,
      query: T.Object({
        ...pageQuery("Referrers after this digest, as the reply before has it last"),
        artifactType: T.Optional(
          T.String({ maxLength: 255, description: "Only referrers of this artifact type" }),
        ),
      }),
      content: { reply: "bytes", replyTypes: ["application/vnd.oci.image.index.v1+json"] },
      replies: { 200: Foreign },
      faults: ["repository_not_found", "repository_name_invalid", "digest_invalid"],
    },
  },
)
