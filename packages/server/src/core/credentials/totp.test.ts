import assert from "node:assert/strict"
import { test } from "node:test"
import { inflateSync } from "node:zlib"
import { qrDataUrl } from "./qr.ts"
import { checkTotp, matchingStep, newTotpSecret, toBase32, totpCode, totpStep, totpUri } from "./totp.ts"

const RFC_SECRET = Buffer.from("12345678901234567890")

test("codes are those of RFC 6238, appendix B", () => {
  for (const [seconds, code] of [
    [59, "287082"],
    [1_111_111_109, "081804"],
    [1_111_111_111, "050471"],
    [1_234_567_890, "005924"],
    [2_000_000_000, "279037"],
    [20_000_000_000, "353130"],
  ] as const) {
    assert.equal(totpCode(RFC_SECRET, totpStep(seconds * 1000)), code)
  }
})

test("a code is accepted one step early and one step late, and no more", () => {
  const nowMs = 1_800_000_000_000
  const step = totpStep(nowMs)
  for (const [at, found] of [
    [step - 2, undefined],
    [step - 1, step - 1],
    [step, step],
    [step + 1, step + 1],
    [step + 2, undefined],
  ] as const) {
    assert.equal(matchingStep(RFC_SECRET, totpCode(RFC_SECRET, at), nowMs), found)
  }
  assert.equal(matchingStep(RFC_SECRET, "", nowMs), undefined)
  assert.equal(matchingStep(RFC_SECRET, "12345", nowMs), undefined)
})

test("a right code is refused where its step was accepted before", async () => {
  let last = 0
  const accept = async (step: number) => {
    if (step <= last) return false
    last = step
    return true
  }
  const nowMs = 1_800_000_000_000
  const attempt = { secret: RFC_SECRET, code: totpCode(RFC_SECRET, totpStep(nowMs)), nowMs }
  assert.deepEqual(await Promise.all([1, 2, 3].map(() => checkTotp(attempt, accept))), [true, false, false])
})

test("a secret is written in base 32 and an URI that authenticators read", () => {
  assert.equal(toBase32(RFC_SECRET), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
  assert.equal(newTotpSecret().length, 20)
  const uri = totpUri({ secret: RFC_SECRET, issuer: "Ada's shop", account: "ada@example.com" })
  assert.equal(
    uri,
    "otpauth://totp/Ada's%20shop:ada%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Ada%27s%20shop&algorithm=SHA1&digits=6&period=30",
  )
})

test("the QR code is a PNG with a quiet zone and the three finder patterns", async () => {
  const url = await qrDataUrl("otpauth://totp/a:b?secret=GEZDGNBV")
  assert.match(url, /^data:image\/png;base64,/)
  const png = Buffer.from(url.slice(url.indexOf(",") + 1), "base64")
  const side = png.readUInt32BE(16)
  const idat = png.indexOf("IDAT")
  const rows = inflateSync(png.subarray(idat + 4, idat + 4 + png.readUInt32BE(idat - 4)))
  const rowBytes = 1 + Math.ceil(side / 8)
  assert.equal(rows.length, side * rowBytes)
  const isDark = (x: number, y: number) => {
    const byte = rows.readUInt8(y * rowBytes + 1 + (x >> 3))
    return (byte & (0x80 >> (x & 7))) === 0
  }
  assert.equal(isDark(0, 0), false)
  for (const [x, y] of [
    [16, 16],
    [side - 17, 16],
    [16, side - 17],
  ] as const)
    assert.equal(isDark(x, y), true)
  assert.equal(isDark(side - 17, side - 1), false)
})
