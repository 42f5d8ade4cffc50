/** Check digits of identifiers. Every function takes the identifier without separators. */

const digitsOf = (text: string): number[] => [...text].map(Number)

const isDigits = (text: string, length: number): boolean => text.length === length && /^\d+$/.test(text)

const weighted = (digits: readonly number[], weights: readonly number[]): number =>
  weights.reduce((sum, weight, index) => sum + weight * (digits[index] ?? 0), 0)

const allSame = (text: string): boolean => new Set(text).size === 1

/** ISO/IEC 7812-1, annex B: payment cards and IMEI. */
export const isLuhn = (digits: string): boolean => {
  let sum = 0
  for (let at = digits.length - 1, double = false; at >= 0; at--, double = !double) {
    const digit = digits.charCodeAt(at) - 48
    sum += double ? (digit > 4 ? digit * 2 - 9 : digit * 2) : digit
  }
  return sum % 10 === 0 && !allSame(digits)
}

/** Lengths of IBANs by country, from the registry of ISO 13616. */
const ibanLengths: Readonly<Record<string, number>> = Object.fromEntries(
  (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 " +
    "FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 " +
    "LU20 LV21 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 " +
    "SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20"
  )
    .split(" ")
    .map(entry => [entry.slice(0, 2), Number(entry.slice(2))]),
)

/** ISO 7064 mod 97-10. */
export const isIban = (text: string): boolean => {
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(text) || ibanLengths[text.slice(0, 2)] !== text.length)
    return false
  let remainder = 0
  for (const character of text.slice(4) + text.slice(0, 4)) {
    const value = Number.parseInt(character, 36)
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97
  }
  return remainder === 1
}

const verhoeffProduct = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  [1, 2, 3, 4, 0, 6, 7, 8, 9, 5],
  [2, 3, 4, 0, 1, 7, 8, 9, 5, 6],
  [3, 4, 0, 1, 2, 8, 9, 5, 6, 7],
  [4, 0, 1, 2, 3, 9, 5, 6, 7, 8],
  [5, 9, 8, 7, 6, 0, 4, 3, 2, 1],
  [6, 5, 9, 8, 7, 1, 0, 4, 3, 2],
  [7, 6, 5, 9, 8, 2, 1, 0, 4, 3],
  [8, 7, 6, 5, 9, 3, 2, 1, 0, 4],
  [9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
]
const verhoeffTurn = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4]

/** Verhoeff's scheme (1969): the dihedral group of order 10 catches every single error and every swap. */
export const isVerhoeff = (digits: string): boolean => {
  let check = 0
  digitsOf(digits)
    .reverse()
    .forEach((digit, position) => {
      let turned = digit
      for (let turn = 0; turn < position % 8; turn++) turned = verhoeffTurn[turned] ?? 0
      check = verhoeffProduct[check]?.[turned] ?? 0
    })
  return check === 0
}

/** India, UIDAI: twelve digits, the first of which is neither 0 nor 1. */
export const isAadhaar = (text: string): boolean =>
  isDigits(text, 12) && /^[2-9]/.test(text) && !allSame(text) && isVerhoeff(text)

/** Netherlands: the eleven test of the citizen service number. */
export const isBsn = (text: string): boolean =>
  isDigits(text, 9) && !allSame(text) && weighted(digitsOf(text), [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0

/** Germany, tax identification number: one digit of the first ten occurs twice or three times; ISO 7064 mod 11,10. */
export const isGermanTaxId = (text: string): boolean => {
  if (!isDigits(text, 11) || text.startsWith("0")) return false
  const digits = digitsOf(text)
  const counts = new Map<number, number>()
  for (const digit of digits.slice(0, 10)) counts.set(digit, (counts.get(digit) ?? 0) + 1)
  const repeated = [...counts.values()].filter(count => count > 1)
  if (repeated.length !== 1 || (repeated[0] ?? 0) > 3) return false
  let product = 10
  for (const digit of digits.slice(0, 10)) product = (((digit + product) % 10 || 10) * 2) % 11
  return (11 - product) % 10 === digits[10]
}

/** France, social security number: sex, year, month, place, and a key of 97 minus the rest. Corsica has letters. */
export const isNir = (text: string): boolean => {
  if (!/^[1-478]\d{2}(?:0[1-9]|1[0-2]|[2-9]\d)(?:\d{2}|2[AB])\d{8}$/.test(text)) return false
  const number = text.slice(0, 13).replace("2A", "19").replace("2B", "18")
  return Number(text.slice(13)) === 97 - Number(BigInt(number) % 97n)
}

/** Spain, DNI and NIE: a letter by the number modulo 23. */
export const isDni = (text: string): boolean => {
  if (!/^[XYZ\d]\d{7}[A-Z]$/.test(text)) return false
  const number = Number(text.slice(0, 8).replace("X", "0").replace("Y", "1").replace("Z", "2"))
  return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] === text[8]
}

const fiscalOdd = [
  1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23,
]

/** Italy, codice fiscale: letters at odd places count by a table, the others by their place in the alphabet. */
export const isFiscalCode = (text: string): boolean => {
  if (!/^[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]$/.test(text)) return false
  let sum = 0
  for (let at = 0; at < 15; at++) {
    const code = text.charCodeAt(at)
    const value = code < 65 ? code - 48 : code - 65
    sum += at % 2 === 0 ? (fiscalOdd[value] ?? 0) : value
  }
  return String.fromCharCode(65 + (sum % 26)) === text[15]
}

/** Poland: a date of birth whose month tells the century, and a check digit. */
export const isPesel = (text: string): boolean => {
  if (!isDigits(text, 11)) return false
  const month = Number(text.slice(2, 4)) % 20
  const day = Number(text.slice(4, 6))
  if (month < 1 || month > 12 || day < 1 || day > 31) return false
  return weighted(digitsOf(text), [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0
}

/** United Kingdom, NHS number: modulus 11. */
export const isNhsNumber = (text: string): boolean => {
  if (!isDigits(text, 10) || allSame(text)) return false
  const check = 11 - (weighted(digitsOf(text), [10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11)
  return check !== 10 && check % 11 === Number(text[9])
}

/** Brazil: two check digits of modulus 11. */
export const isCpf = (text: string): boolean => {
  if (!isDigits(text, 11) || allSame(text)) return false
  const digits = digitsOf(text)
  const check = (length: number) =>
    ((weighted(
      digits,
      Array.from({ length }, (_, index) => length + 1 - index),
    ) *
      10) %
      11) %
    10
  return check(9) === digits[9] && check(10) === digits[10]
}

/** Area, group and serial that the Social Security Administration never gave. */
export const isSsn = (digits: string): boolean => /^(?!000|666|9)\d{3}(?!00)\d{2}(?!0000)\d{4}$/.test(digits)

/** Issuer ranges by network; a length and a check digit make the rest. */
const cardRanges: readonly RegExp[] = [
  /^4(?:\d{12}|\d{15}|\d{18})$/,
  /^(?:5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12})$/,
  /^3[47]\d{13}$/,
  /^(?:6011\d{12}|64[4-9]\d{13}|65\d{14})$/,
  /^3(?:0[0-5]\d{11}|[689]\d{12})$/,
  /^35(?:2[89]|[3-8]\d)\d{12}$/,
  /^62\d{14,17}$/,
  /^(?:5018|5020|5038|5893|6304|6759|6761|6762|6763)\d{8,15}$/,
]

export const isCardNumber = (digits: string): boolean =>
  cardRanges.some(range => range.test(digits)) && isLuhn(digits)
