/** Which handler answers a request, by the field of its query that names what is asked of a bucket or an object. */
import * as acl from "./acl.ts"
import { getAttributes } from "./attributes.ts"
import * as buckets from "./buckets.ts"
import { copyObject, copyPart } from "./copying.ts"
import * as cors from "./cors.ts"
import * as lifecycle from "./lifecycle.ts"
import { listObjects } from "./listing.ts"
import { deleteObjects } from "./multi-delete.ts"
import * as multipart from "./multipart.ts"
import * as objects from "./objects.ts"
import * as policy from "./policy.ts"
import { notImplemented, type S3Call, type S3Handler } from "./request.ts"
import * as tagging from "./tagging.ts"
import { getVersioning, listVersions, putVersioning } from "./versions.ts"

/** The first row whose field the query has; `otherwise` when there is none. */
export interface Table {
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

export const tables = {
  getBucket: {
    rows: {
      location: buckets.getLocation,
      versioning: getVersioning,
      versions: listVersions,
      uploads: multipart.listUploads,
      acl: acl.getAcl,
      cors: cors.getCors,
      encryption: unset("ServerSideEncryptionConfigurationNotFoundError"),
      lifecycle: lifecycle.getLifecycle,
      "object-lock": unset("ObjectLockConfigurationNotFoundError"),
      ownershipControls: policy.getOwnership,
      policy: policy.getPolicy,
      policyStatus: policy.getPolicyStatus,
      publicAccessBlock: policy.getBlock,
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
      acl: acl.putAcl,
      cors: cors.putCors,
      lifecycle: lifecycle.putLifecycle,
      ownershipControls: policy.putOwnership,
      policy: policy.putPolicy,
      publicAccessBlock: policy.putBlock,
      tagging: tagging.putBucketTagging,
      versioning: putVersioning,
    },
    otherwise: buckets.createBucket,
  },
  deleteBucket: {
    rows: {
      ...Object.fromEntries(settings.map(field => [field, buckets.clearSetting])),
      cors: cors.deleteCors,
      lifecycle: lifecycle.deleteLifecycle,
      ownershipControls: policy.deleteOwnership,
      policy: policy.deletePolicy,
      publicAccessBlock: policy.deleteBlock,
      tagging: tagging.deleteBucketTagging,
    },
    otherwise: buckets.deleteBucket,
  },
  postBucket: { rows: { delete: deleteObjects }, otherwise: notImplemented },
  getObject: {
    rows: {
      uploadId: multipart.listParts,
      attributes: getAttributes,
      acl: acl.getObjectAcl,
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
export const putTable: Table = {
  rows: {
    uploadId: request => (isCopy(request.call) ? copyPart : multipart.putPart)(request),
    ...refused(...objectSettings),
    acl: acl.putObjectAcl,
    tagging: tagging.putObjectTagging,
  },
  otherwise: request => (isCopy(request.call) ? copyObject : objects.putObject)(request),
}

export const only = (otherwise: S3Handler): Table => ({ rows: {}, otherwise })

/** The handler of a request, by its query. */
export const handlerOf = (
  { rows, otherwise }: Table,
  query: Readonly<Record<string, unknown>>,
): S3Handler => {
  const field = Object.keys(rows).find(name => Object.hasOwn(query, name))
  return (field === undefined ? undefined : rows[field]) ?? otherwise
}
