/** S3's operations over the object store, by method, path and query. */

import { areas, type Reply } from "@svc/contract"
import type { AccessKeys } from "../../../core/keys/signatures.ts"
import type { AccountCall, Call } from "../../../kernel/call.ts"
import { fault } from "../../../kernel/fault.ts"
import { implement } from "../../../kernel/implement.ts"
import { toIso } from "../../../kernel/to-iso.ts"
import { getAttributes } from "./attributes.ts"
import * as buckets from "./buckets.ts"
import { copyObject, copyPart } from "./copying.ts"
import { s3Region } from "./facts.ts"
import { listObjects } from "./listing.ts"
import { deleteObjects } from "./multi-delete.ts"
import * as multipart from "./multipart.ts"
import * as objects from "./objects.ts"
import { type PublicNeeds, publicReader } from "./public.ts"
import { notImplemented, type Query, type S3Call, type S3Handler, s3CallOf } from "./request.ts"
import * as tagging from "./tagging.ts"
import { getVersioning, listVersions, putVersioning } from "./versions.ts"

/** The first row whose field the query has; `otherwise` when there is none. */
interface Table {
  readonly rows: Readonly<Record<string, S3Handler>>
  readonly otherwise: S3Handler
}

const { unset } = buckets

/** What S3 can set on buckets and objects, and this cannot. */
const refused = (...fields: string[]): Record<string, S3Handler> =>
  Object.fromEntries(fields.map(field => [field, notImplemented]))

const settings = [
  ...[
    "accelerate",
    "acl",
    "analytics",
    "cors",
    "encryption",
    "intelligent-tiering",
    "inventory",
    "lifecycle",
  ],
  ...["logging", "metadataConfiguration", "metadataTable", "metrics", "notification", "object-lock"],
  ...["ownershipControls", "policy", "publicAccessBlock", "replication", "requestPayment", "tagging"],
  ...["versioning", "website", "policyStatus", "session"],
]

const objectSettings = [
  "acl",
  "tagging",
  "retention",
  "legal-hold",
  "torrent",
  "restore",
  "select",
  "renameObject",
]

const tables = {
  getBucket: {
    rows: {
      location: buckets.getLocation,
      versioning: getVersioning,
      versions: listVersions,
      uploads: multipart.listUploads,
      acl: buckets.getAcl,
      cors: unset("NoSuchCORSConfiguration"),
      encryption: unset("ServerSideEncryptionConfigurationNotFoundError"),
      lifecycle: unset("NoSuchLifecycleConfiguration"),
      "object-lock": unset("ObjectLockConfigurationNotFoundError"),
      ownershipControls: unset("OwnershipControlsNotFoundError"),
      policy: unset("NoSuchBucketPolicy"),
      policyStatus: buckets.getPolicyStatus,
      publicAccessBlock: unset("NoSuchPublicAccessBlockConfiguration"),
      replication: unset("ReplicationConfigurationNotFoundError"),
      tagging: tagging.getBucketTagging,
      website: unset("NoSuchWebsiteConfiguration"),
      accelerate: buckets.getAccelerate,
      logging: buckets.getLogging,
      notification: buckets.getNotification,
      requestPayment: buckets.getRequestPayment,
      ...refused("analytics", "intelligent-tiering", "inventory", "metrics", "metadataConfiguration"),
      ...refused("metadataTable", "session"),
    },
    otherwise: listObjects,
  },
  putBucket: {
    rows: {
      ...refused(...settings),
      acl: buckets.putAcl,
      tagging: tagging.putBucketTagging,
      versioning: putVersioning,
    },
    otherwise: buckets.createBucket,
  },
  deleteBucket: {
    rows: {
      ...Object.fromEntries(settings.map(field => [field, buckets.clearSetting])),
      tagging: tagging.deleteBucketTagging,
    },
    otherwise: buckets.deleteBucket,
  },
  postBucket: { rows: { delete: deleteObjects }, otherwise: notImplemented },
  getObject: {
    rows: {
      uploadId: multipart.listParts,
      attributes: getAttributes,
      acl: buckets.getObjectAcl,
      tagging: tagging.getObjectTagging,
      ...refused("retention", "legal-hold", "torrent"),
    },
    otherwise: objects.getObject,
  },
  deleteObject: {
    rows: {
      uploadId: multipart.abortUpload,
      ...refused(...objectSettings),
      tagging: tagging.deleteObjectTagging,
    },
    otherwise: objects.deleteObject,
  },
  postObject: {
    rows: { uploads: multipart.createUpload, uploadId: multipart.completeUpload },
    otherwise: notImplemented,
  },
} as const satisfies Record<string, Table>

const isCopy = ({ header }: S3Call): boolean => header("x-amz-copy-source") !== undefined

/** The one table that also looks at a header. */
const putTable: Table = {
  rows: {
    uploadId: request => (isCopy(request.call) ? copyPart : multipart.putPart)(request),
    ...refused(...objectSettings),
    tagging: tagging.putObjectTagging,
  },
  otherwise: request => (isCopy(request.call) ? copyObject : objects.putObject)(request),
}

const only = (otherwise: S3Handler): Table => ({ rows: {}, otherwise })

type Input = Query & { readonly bucket?: string; readonly key?: string }

export interface S3Needs extends PublicNeeds {
  readonly accessKeys: AccessKeys
  /** Where the platform is reached. */
  readonly baseUrl: string
  /** Names below it are buckets. */
  readonly s3Domain: string | undefined
}

/** The endpoint at which the name of a host can be a bucket. */
const virtualHostEndpoint = ({ baseUrl, s3Domain }: S3Needs): string | null => {
  if (s3Domain === undefined) return null
  const url = new URL(baseUrl)
  url.hostname = s3Domain
  return url.origin
}

type Field = "setHeader" | "operation"

/** The declaration may name one status, which then goes without saying. */
const finish = ({ headers = {}, ...reply }: Reply, { setHeader, operation }: Pick<Call, Field>): unknown => {
  for (const [name, value] of Object.entries(headers)) setHeader(name, value)
  return Object.keys(operation.replies).length === 1 ? reply.body : reply
}

export const s3Handlers = implement(areas.s3, (needs: S3Needs) => {
  const { store, accessKeys, baseUrl } = needs
  /** The declaration names the statuses of all rows of a table together, so each row's is not told by types. */
  const answer = ({ rows, otherwise }: Table) =>
    (async (input: Input, call: Call): Promise<unknown> => {
      const { organization, project } = call
      const { bucket = "", key = "", ...query } = input
      const field = Object.keys(rows).find(name => Object.hasOwn(query, name))
      const handle = (field === undefined ? undefined : rows[field]) ?? otherwise
      const place = { organization, projectId: project?.id ?? "" }
      return finish(await handle({ call: s3CallOf(call, query), store, place, bucket, key, query }), call)
    }) as (input: object, call: Call) => Promise<never>

  const readPublic = publicReader(needs, [...Object.keys(tables.getObject.rows), "versionId"])
  const answerPublic = (read: S3Handler) =>
    (async ({ bucket = "", key = "", ...query }: Input, call: AccountCall): Promise<unknown> =>
      finish(await readPublic(read, call, { bucket, key, query }), call)) as (
      input: object,
      call: AccountCall,
    ) => Promise<never>

  return {
    async credentials(_input, { principal, project }) {
      if (principal.type !== "key") throw fault("key_required")
      const { accessKeyId, secretAccessKey } = await accessKeys.ofKey(principal, project?.id ?? "")
      return {
        access_key_id: accessKeyId,
        secret_access_key: secretAccessKey,
        endpoint: `${baseUrl}/s3`,
        region: s3Region,
        virtual_host_endpoint: virtualHostEndpoint(needs),
        expires_at: toIso(principal.key?.expiresAt),
      }
    },
    listBuckets: answer(only(buckets.listBuckets)),
    getBucket: answer(tables.getBucket),
    headBucket: answer(only(buckets.headBucket)),
    putBucket: answer(tables.putBucket),
    deleteBucket: answer(tables.deleteBucket),
    postBucket: answer(tables.postBucket),
    getObject: answer(tables.getObject),
    headObject: answer(only(objects.headObject)),
    getPublicObject: answerPublic(objects.getObject),
    headPublicObject: answerPublic(objects.headObject),
    putObject: answer(putTable),
    deleteObject: answer(tables.deleteObject),
    postObject: answer(tables.postObject),
  }
})
