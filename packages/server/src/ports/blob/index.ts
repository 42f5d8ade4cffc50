/** Provider name → driver. A driver's library is loaded only when it is the one chosen. */
import type { S3Address } from "./drivers/s3/client.ts"
import type { BlobPort } from "./port.ts"

export type BlobProvider =
  | { readonly driver: "disk"; readonly path: string }
  | ({ readonly driver: "s3" } & S3Address)

export const openBlobs = async (provider: BlobProvider): Promise<BlobPort> => {
  switch (provider.driver) {
    case "disk":
      return (await import("./drivers/disk/driver.ts")).openDiskBlobs(provider)
    case "s3":
      return (await import("./drivers/s3/driver.ts")).openS3Blobs(provider)
  }
}
