import { join } from "node:path"
import { defineService } from "../../kernel/service.ts"
import type { ValuesOf } from "../../kernel/setting.ts"
import { StartupError } from "../../kernel/startup-error.ts"
import { installation } from "../../kernel/tokens.ts"
import type { BlobProvider } from "./index.ts"
import { blob } from "./port.ts"
import { settings } from "./settings.ts"

const credentialsOf = ({ blobAccessKey, blobSecretKey }: ValuesOf<typeof settings>) => {
  if (blobAccessKey !== undefined && blobSecretKey !== undefined)
    return { accessKeyId: blobAccessKey, secretAccessKey: blobSecretKey }
  if (blobAccessKey === blobSecretKey) return undefined
  throw new StartupError(
    "One of SVC_BLOB_S3_ACCESS_KEY and SVC_BLOB_S3_SECRET_KEY is missing.",
    "Set both, or neither.",
  )
}

const providerOf = (values: ValuesOf<typeof settings>, dataDir: string): BlobProvider => {
  const { blobUrl, blobRegion, blobAddressing } = values
  if (blobUrl === undefined) return { driver: "disk", path: join(dataDir, "blobs") }
  return {
    driver: "s3",
    ...blobUrl,
    region: blobRegion,
    credentials: credentialsOf(values),
    addressing: blobAddressing,
  }
}

export const blobService = defineService({
  provides: blob,
  settings,
  needs: { installation },
  atStart: given => given.settings.blobUrl !== undefined,
  async open({ settings: values, installation: { dataDir } }, { opened }) {
    const { openBlobs } = await import("./index.ts")
    return opened.use(await openBlobs(providerOf(values, dataDir)))
  },
})
