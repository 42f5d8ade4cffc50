// Made by `npm run gen` from the migrated database.
import type { ColumnType, Generated } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "storage.blobs": {
      project_id: string
      address: string
      bytes: number
      refs: number
      released_at: Date | null
      verified_at: Date
      condition: string
    }
    "storage.buckets": {
      id: string
      organization_id: string
      project_id: string
      name: string
      is_public: boolean
      created_at: Date
      holds_public_name: Generated<boolean>
      versioning: Generated<string>
      tags: ColumnType<unknown, string>
      settings: ColumnType<unknown, string>
      is_open: Generated<boolean>
    }
    "storage.chores": {
      name: string
      done_at: Date
    }
    "storage.counts": {
      bucket_id: string
      shard: number
      organization_id: string
      project_id: string
      object_count: number
      size_bytes: number
      upload_bytes: number
    }
    "storage.objects": {
      bucket_id: string
      key: string
      project_id: string
      size: number
      etag: string
      last_modified: Date
      http: ColumnType<unknown, string>
      metadata: ColumnType<unknown, string>
      checksums: ColumnType<unknown, string>
      checksum_type: string
      part_count: number | null
      addresses: string[]
      sizes: number[]
      parts: ColumnType<unknown, string | null>
      version_id: string | null
      age: Generated<number>
      tags: ColumnType<unknown, string>
      acl: string | null
    }
    "storage.parts": {
      upload_id: string
      number: number
      address: string | null
      size: number
      etag: string
      checksums: ColumnType<unknown, string>
      last_modified: Date
    }
    "storage.signing_keys": {
      id: string
      organization_id: string
      project_id: string
      secret: string
      created_at: Date
    }
    "storage.uploads": {
      id: string
      organization_id: string
      project_id: string
      bucket_id: string | null
      key: string
      kind: string
      http: ColumnType<unknown, string>
      metadata: ColumnType<unknown, string>
      checksum_algorithm: string | null
      checksum_type: string
      length_bytes: number | null
      received_bytes: number
      metadata_text: string | null
      created_at: Date
      expires_at: Date
      completed: ColumnType<unknown, string | null>
      concat: string | null
      concat_text: string | null
      tags: ColumnType<unknown, string>
      acl: string | null
    }
    "storage.versions": {
      bucket_id: string
      key: string
      project_id: string
      size: number
      etag: string
      last_modified: Date
      http: ColumnType<unknown, string>
      metadata: ColumnType<unknown, string>
      checksums: ColumnType<unknown, string>
      checksum_type: string
      part_count: number | null
      addresses: string[]
      sizes: number[]
      parts: ColumnType<unknown, string | null>
      version_id: string | null
      age: Generated<number>
      tags: ColumnType<unknown, string>
      acl: string | null
      is_marker: boolean
    }
  }
}
