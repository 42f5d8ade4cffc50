/** The commonest passwords of eight characters or more in published leaks, in lower case. */
export const commonPasswords: ReadonlySet<string> = new Set(
  `
  12345678 123456789 1234567890 01234567 012345678 0123456789 0987654321 987654321 87654321 123123123
  11111111 111111111 1111111111 00000000 000000000 0000000000 22222222 66666666 77777777 88888888
  99999999 12341234 11223344 1122334455 112233445566 12121212 123321123 147258369 159753456 123456780
  password password1 password12 password123 password1234 password! password1! passw0rd p@ssword p@ssw0rd
  p@ssw0rd1 passw0rd! pass1234 pass12345 passpass mypassword newpassword changeme changeme1 changeme123
  qwertyui qwertyuiop qwerty12 qwerty123 qwerty1234 qwerty12345 qwerty123456 qwertyqwerty 1q2w3e4r 1q2w3e4r5t
  1q2w3e4r5t6y q1w2e3r4 q1w2e3r4t5 1qaz2wsx 1qaz2wsx3edc zaq12wsx qazwsxedc qazwsx123 asdfghjk asdfghjkl
  asdfasdf asdf1234 zxcvbnm1 zxcvbnm123 abcd1234 abcdefgh abc12345 abc123456 abcdefg1 a1b2c3d4
  a1234567 a12345678 a123456789 aa123456 aa12345678 iloveyou iloveyou1 iloveyou2 iloveyou123 sunshine
  sunshine1 princess princess1 football football1 baseball baseball1 superman superman1 spiderman starwars
  trustno1 welcome1 welcome123 welcome1! letmein1 letmein123 whatever computer internet samsung1
  michelle jennifer jonathan michael1 charlie1 victoria elizabeth alexander liverpool liverpool1
  chelsea1 arsenal1 barcelona pokemon1 naruto123 minecraft monkey123 dragon123 shadow123 master123
  admin123 admin1234 admin12345 administrator root1234 rootroot test1234 testtest guest123 secret123
  default1 temp1234 summer2024 summer2025 summer2026 winter2024 winter2025 winter2026 correcthorsebatterystaple
  `
    .trim()
    .split(/\s+/),
)
