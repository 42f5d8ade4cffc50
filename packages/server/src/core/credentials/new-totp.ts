import { qrDataUrl } from "./qr.ts"
import { type TotpLabel, toBase32, totpUri } from "./totp.ts"

/** What a person's authenticator needs, to be shown once. */
export const showTotp = async (label: TotpLabel) => {
  const uri = totpUri(label)
  return { secret: toBase32(label.secret), uri, qr_code: await qrDataUrl(uri) }
}
