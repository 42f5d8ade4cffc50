import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type OwnCertificate, ownCertificate } from "../../../services/postgres/certificate.ts"

const authoritySecret = Buffer.alloc(32, "authority of a test")

/** A certificate for a name, of one authority for all, that holds for a year from that time. */
export const certificateFor = async (host: string, nowMs?: number): Promise<OwnCertificate> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-certificate-"))
  try {
    return await ownCertificate({ folder, host, authoritySecret }, nowMs)
  } finally {
    await rm(folder, { recursive: true })
  }
}
