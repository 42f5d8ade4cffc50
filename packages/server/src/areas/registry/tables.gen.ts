// Made by `npm run gen` from the migrated database.
export {}

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "registry.blobs": {
      organization_id: string
      project_id: string
      digest: string
      store_id: string
      bytes: number
      touched_at: Date
    }
    "registry.garbage": {
      project_id: string
      store_id: string
      released_at: Date
    }
    "registry.manifest_blobs": {
      project_id: string
      repository_id: string
      manifest: string
      digest: string
    }
    "registry.manifests": {
      project_id: string
      repository_id: string
      digest: string
      media_type: string
      content: Buffer
      artifact_type: string | null
      subject: string | null
      annotations: string | null
      pushed_at: Date
    }
    "registry.pieces": {
      project_id: string
      store_id: string
      number: number
      address: string
      bytes: number
    }
    "registry.repositories": {
      organization_id: string
      project_id: string
      id: string
      name: string
      created_at: Date
    }
    "registry.repository_blobs": {
      project_id: string
      repository_id: string
      digest: string
      touched_at: Date
    }
    "registry.tags": {
      project_id: string
      repository_id: string
      name: string
      digest: string
      updated_at: Date
    }
    "registry.uploads": {
      project_id: string
      id: string
      repository_id: string
      received_bytes: number
      touched_at: Date
    }
  }
}
