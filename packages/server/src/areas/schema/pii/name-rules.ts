import type { EntityType, TypeFamily } from "./entities.ts"

/** Names that columns have for an entity. */
export interface NameRule {
  readonly entity: EntityType
  /** How likely a column of such a name holds the entity, before any value was seen. */
  readonly score: number
  readonly families: readonly TypeFamily[]
  /** Words in the order they are written, in lower case without accents. */
  readonly phrases: readonly string[]
  /** A word before the phrase that makes it something else, as in `mac address`. */
  readonly notAfter?: readonly string[]
}

const rule = (
  entity: EntityType,
  score: number,
  families: string,
  phrases: string,
  notAfter?: string,
): NameRule => ({
  entity,
  score,
  families: families.split(" ") as TypeFamily[],
  phrases: phrases.split(",").map(phrase => phrase.trim()),
  ...(notAfter === undefined ? {} : { notAfter: notAfter.split(" ") }),
})

const TEXT = "text enum json"
const DIGITS = "text integer decimal json"
const KEY = "text uuid bytes json"

const contact: readonly NameRule[] = [
  rule(
    "EMAIL_ADDRESS",
    0.92,
    TEXT,
    `email, e mail, email address, mail address, courriel, adresse mail, correo, correo electronico, posta elettronica,
    mailadresse, emailadres, e post, epost, poczta, sahkoposti`,
  ),
  rule("EMAIL_ADDRESS", 0.6, TEXT, "mail, eml"),
  rule(
    "PHONE_NUMBER",
    0.9,
    DIGITS,
    `phone, phone number, phone no, telephone, tel number, telefon, telefonnummer, telefono, telefone, telefoon,
    telefoonnummer, mobile number, mobile no, mobile phone, cell phone, cellphone, handy, handynummer, mobilnummer,
    msisdn, numero telephone, numer telefonu, whatsapp, fax, fax number, celular, movil, portable`,
  ),
  rule(
    "PHONE_NUMBER",
    0.65,
    DIGITS,
    "tel, mobile, cell, mob, ph, ph no, tlf, mobil, gsm, contact number, contact no",
  ),
]

const names: readonly NameRule[] = [
  rule(
    "FIRST_NAME",
    0.9,
    TEXT,
    `first name, fname, f name, given name, forename, vorname, prenom, primer nombre, nome proprio, voornaam, imie, fornavn,
    fornamn, etunimi, firstnm, first nm, middle name, mname, preferred name`,
  ),
  rule(
    "LAST_NAME",
    0.9,
    TEXT,
    `last name, lname, l name, surname, family name, nachname, familienname, nom famille, nom de famille, apellido,
    primer apellido, segundo apellido, cognome, achternaam, nazwisko, sobrenome, apelido, efternamn, etternavn, efternavn,
    sukunimi, lastnm, last nm, maiden name, geburtsname`,
  ),
  rule(
    "PERSON",
    0.88,
    TEXT,
    `full name, fullname, real name, legal name, person name, customer name, cust name, client name, user full name,
    employee name, emp name, patient name, student name, teacher name, contact name, contact person, author name,
    recipient name, receiver name, sender name, owner name, holder name, account holder, card holder, cardholder,
    cardholder name, name on card, member name, guest name, passenger name, driver name, doctor name, physician name,
    applicant name, candidate name, beneficiary name, billing name, shipping name, subscriber name, tenant name person,
    manager name, agent name, spouse name, father name, mother name, parent name, guardian name, emergency contact,
    witness name, borrower name, insured name, nombre completo, nombre y apellidos, nom complet, nome completo,
    nome e cognome, volledige naam, imie i nazwisko, kundenname, ansprechpartner, name of person`,
  ),
  rule(
    "PERSON",
    0.6,
    TEXT,
    "recipient, beneficiary, signatory, assignee, passenger, kontaktperson, displayname, display name",
  ),
  rule("PERSON", 0.5, TEXT, "author, salesperson, attendee, instructor, physician, landlord"),
  // The table says whose name it is.
  rule("PERSON", 0.4, TEXT, "name, nombre, nom, naam, nome, namn, navn, imie nazwisko"),
  rule(
    "USERNAME",
    0.85,
    TEXT,
    `username, user name, usr name, login name, loginname, screen name, nickname, nick name, benutzername, nom utilisateur,
    nombre usuario, usuario, gebruikersnaam, nome utente, anvandarnamn, twitter handle, github username, uname`,
  ),
  rule(
    "USERNAME",
    0.6,
    TEXT,
    "login, handle, nick, userid, pseudo, pseudonym, twitter, instagram, skype, telegram",
  ),
]

const financial: readonly NameRule[] = [
  rule(
    "CREDIT_CARD",
    0.9,
    DIGITS,
    `credit card, credit card number, credit card no, card number, card no, cardno, ccnum, cc num, cc number, cc no,
    pan number, kreditkarte, kreditkartennummer, numero carte, carte bancaire, tarjeta credito, numero tarjeta,
    carta credito, numero cartao, cartao credito, creditcardnummer, debit card, debit card number, payment card`,
  ),
  rule("CREDIT_CARD", 0.5, DIGITS, "cc, pan, cvv, cvc, cvv2"),
  rule("IBAN_CODE", 0.92, TEXT, "iban, iban code, iban number"),
  rule(
    "BANK_ACCOUNT",
    0.85,
    DIGITS,
    `bank account, bank account number, bank acct, account number, account no, acct number, acct no, acct num, accountno,
    routing number, sort code, kontonummer, bankverbindung, numero compte, numero cuenta, cuenta bancaria,
    conto corrente, rekeningnummer, numer konta, bank details, clabe, bsb`,
  ),
  rule("BANK_ACCOUNT", 0.5, TEXT, "bic, swift, swift code, bank code"),
]

const government: readonly NameRule[] = [
  rule(
    "US_SSN",
    0.93,
    DIGITS,
    "ssn, social security, social security number, social security no, soc sec, socsec",
  ),
  rule("DE_TAX_ID", 0.85, DIGITS, "steuer id, steueridentifikationsnummer, steuerid, idnr"),
  rule("NL_BSN", 0.92, DIGITS, "bsn, burgerservicenummer, sofinummer"),
  rule("FR_NIR", 0.9, TEXT, "nir, numero securite sociale, securite sociale, num secu, insee number"),
  rule("ES_DNI", 0.9, TEXT, "dni, nie, documento identidad, documento nacional"),
  rule("IT_FISCAL_CODE", 0.92, TEXT, "codice fiscale, cod fiscale, codfisc, fiscal code"),
  rule("PL_PESEL", 0.93, DIGITS, "pesel"),
  rule("UK_NHS", 0.92, DIGITS, "nhs, nhs number, nhs no"),
  rule("IN_AADHAAR", 0.93, DIGITS, "aadhaar, aadhar, aadhaar number, aadhar number, uidai"),
  rule("BR_CPF", 0.92, DIGITS, "cpf"),
  rule(
    "NATIONAL_ID",
    0.88,
    DIGITS,
    `national id, national identifier, national id number, national insurance, national insurance number, nino, nin,
    personal id number, personnummer, person number, fodselsnummer, cpr number, cpr, henkilotunnus, hetu, id card,
    id card number, identity card, identity number, personalausweis, ausweisnummer, carte identite, cedula, curp, rut,
    sozialversicherungsnummer, svnr, ahv, citizen id, resident id, egn, cnp, rodne cislo, govt id, government id`,
  ),
  rule(
    "PASSPORT",
    0.92,
    TEXT,
    "passport, passport number, passport no, reisepass, passnummer, passeport, pasaporte, passaporto, paspoort",
  ),
  rule(
    "DRIVER_LICENSE",
    0.88,
    TEXT,
    "driver license, drivers license, driver licence, driving licence, driving license, dl number, dl no, fuhrerschein, permis conduire, rijbewijs, patente guida, license plate, licence plate, number plate, kennzeichen",
  ),
  rule(
    "TAX_ID",
    0.8,
    DIGITS,
    `tax id, tax number, taxpayer id, tax no, tin, ein, itin, vat number, vat id, vat no, steuernummer, ust id, umsatzsteuer id,
    numero fiscal, nif, cif, partita iva, btw nummer, siret, siren, cnpj, gstin, abn, nip, rfc`,
  ),
]

const demographic: readonly NameRule[] = [
  rule(
    "DATE_OF_BIRTH",
    0.92,
    "text date timestamp json",
    `date of birth, birth date, birthdate, birthday, birth day, dob, dateofbirth, geburtsdatum, geburtstag,
    date naissance, date de naissance, fecha nacimiento, fecha de nacimiento, data nascita, data di nascita,
    geboortedatum, data urodzenia, data nascimento, fodelsedatum, fodselsdato, born on, born at, born, bday, d o b`,
  ),
  rule(
    "DATE_OF_BIRTH",
    0.7,
    "integer decimal text",
    "birth year, year of birth, yob, geburtsjahr, birthyear, birth month",
  ),
  rule(
    "GENDER",
    0.88,
    "text enum integer json",
    "gender, sex, geschlecht, genre sexuel, sexe, sexo, genero, sesso, geslacht, plec, kon",
  ),
  rule("GENDER", 0.5, TEXT, "salutation, anrede, honorific, civilite, pronouns, tratamiento"),
  rule(
    "NRP",
    0.75,
    TEXT,
    `religion, religious affiliation, ethnicity, ethnic group, ethnic origin, race, nationality, citizenship, nationalitat,
    staatsangehorigkeit, nationalite, nacionalidad, political party, political opinion, sexual orientation, union membership,
    konfession, gender identity`,
  ),
  rule(
    "HEALTH",
    0.82,
    "text enum json integer",
    `diagnosis, diagnoses, diagnose, diagnostic, icd10, icd 10, icd code, icd, blood type, blood group, blutgruppe, allergy,
    allergies, allergie, medication, medications, medical condition, medical history, medical notes, medical record,
    medical record number, mrn, health condition, health status, prescription, disability, disease, illness, symptom,
    symptoms, vaccination, treatment notes, krankheit, maladie, enfermedad, hiv status, pregnancy, mental health,
    health insurance number, krankenversicherung`,
  ),
]

const location: readonly NameRule[] = [
  rule(
    "POSTAL_ADDRESS",
    0.85,
    TEXT,
    `street, street address, street name, home address, postal address, mailing address, billing address, shipping address,
    delivery address, residential address, address line, addr line, adr line, strasse, hausnummer, anschrift, adresse, rue,
    direccion, domicilio, calle, indirizzo, via indirizzo, adres, straat, ulica, endereco, logradouro, adress, gatuadress,
    permanent address, house number, house no, full address, customer address, ship address, bill address, street line,
    lieferadresse, rechnungsadresse, wohnort, apartment number`,
  ),
  rule(
    "POSTAL_ADDRESS",
    0.65,
    TEXT,
    "address, addr",
    `email mail ip mac wallet memory web contract bitcoin btc eth ethereum server block site host base network bus physical
    virtual inet url http https hardware return crypto token public deposit lan wan gateway remote bind listen smtp from to
    reply ipv peer client target source destination dest local`,
  ),
  rule(
    "CITY",
    0.65,
    TEXT,
    "city, town, ort, stadt, ville, ciudad, citta, woonplaats, miasto, cidade, stad, kommun, birth place, place of birth, geburtsort, locality, poblacion",
  ),
  rule(
    "ZIP_CODE",
    0.75,
    DIGITS,
    `zip, zip code, zipcode, postal code, postcode, post code, postalcode, plz, postleitzahl, code postal, codigo postal,
    cap code, codice postale, kod pocztowy, cep, postnummer, postnr, pin code, pincode`,
  ),
  rule("LATITUDE", 0.7, "decimal text integer", "latitude, lat, geo lat, breitengrad, latitud"),
  rule(
    "LONGITUDE",
    0.7,
    "decimal text integer",
    "longitude, lng, lon, geo lng, geo lon, langengrad, longitud",
  ),
  rule(
    "GEO_POINT",
    0.65,
    "point text json",
    "geo, location, coordinates, coords, geom, position, lat lng, lat lon, latlng, gps, geolocation, geo point",
  ),
]

const technical: readonly NameRule[] = [
  rule(
    "IP_ADDRESS",
    0.85,
    "text net integer json",
    "ip, ip address, ip addr, ipaddr, ipaddress, ipv 4, ipv 6, ipv, remote addr, remote address, client address, client ip, remote ip, remote host, last ip, signup ip",
  ),
  rule(
    "MAC_ADDRESS",
    0.88,
    "text mac json",
    "mac address, mac addr, macaddr, hwaddr, hardware address, mac, ethernet address",
  ),
  rule(
    "DEVICE_ID",
    0.7,
    KEY,
    "device id, device identifier, device uuid, device token, device fingerprint, udid, idfa, idfv, gaid, advertising id, ad id, imei, imsi, iccid, android id, hardware id, installation id, push token, device serial, browser fingerprint",
  ),
  rule(
    "COOKIE_ID",
    0.65,
    KEY,
    "cookie, cookie id, visitor id, anonymous id, tracking id, session id, sessionid, ga client id, fbp, gclid",
  ),
  rule(
    "PASSWORD",
    0.95,
    "text bytes json",
    `password, passwd, passwrd, pwd, passphrase, password hash, hashed password, password digest, encrypted password, pw hash,
    pass hash, kennwort, passwort, mot de passe, motdepasse, contrasena, clave, senha, wachtwoord, haslo, losenord,
    security answer, secret answer, pwhash, crypted password`,
  ),
  rule("PASSWORD", 0.5, "text bytes json", "pass, pin, pw, salt, password salt, pin hash"),
  rule(
    "SECRET",
    0.85,
    "text bytes json",
    `secret, client secret, secret key, private key, otp secret, totp secret, mfa secret, two factor secret, app secret,
    shared secret, webhook secret, signing secret, signing key, encryption key, recovery code, backup code, otp backup code,
    seed phrase, mnemonic, credential, ssh key, otp, ssh private key`,
  ),
  rule(
    "API_KEY",
    0.9,
    KEY,
    "api key, apikey, access key, access key id, api secret, api token, service key, license key",
  ),
  rule(
    "ACCESS_TOKEN",
    0.85,
    KEY,
    "access token, refresh token, auth token, authentication token, bearer token, session token, oauth token, id token, reset token, password reset token, reset password token, confirmation token, verification token, invite token, invitation token, remember token, remember me token, csrf token, jwt, authorization code, unlock token, session key, activation code",
  ),
  rule("ACCESS_TOKEN", 0.6, KEY, "token", "page cursor next prev sync continuation"),
]

export const nameRules: readonly NameRule[] = [
  ...contact,
  ...names,
  ...financial,
  ...government,
  ...demographic,
  ...location,
  ...technical,
]

/** Words after which a phrase was not about the value itself: `email_sent_at`, `phone_verified`, `address_id`. */
export const otherHeads: ReadonlySet<string> = new Set(
  `at on date time timestamp ts count cnt total id uuid guid flag verified verification confirmed confirmation enabled
  disabled sent status state type kind template subject format pattern regex length len version required allowed optin
  opt optout preference setting provider policy attempt expire expires expiry expiration exp ttl limit quota index order
  rank score source method mode level title code prefix suffix size color colour url uri link class category group list
  queue job task batch campaign config rate amount price percentage valid validity invalid bounce bounced change changed
  update updated create created strength algorithm cost model brand os app network domain visibility visible public
  notification subscribed subscription unsubscribed delivered opened clicked failed failure retry used usage body header
  text html content message label by range mask region zone timezone country language locale scheme protocol port pool
  plan tier feature key bucket path file folder name number`
    .trim()
    .split(/\s+/),
)

/** Words before which a phrase is not about the value itself: `has_password`, `max_tokens`. */
export const otherModifiers: ReadonlySet<string> = new Set(
  `is has can should allow enable disable num count total max min avg require required use send notify opt verify confirm
  accept show hide need wants want receive skip force unique valid invalid`
    .trim()
    .split(/\s+/),
)

/** Whose name it is when a column is called `name`, and what a table of people is called. */
export const personNouns: ReadonlySet<string> = new Set(
  `user customer client employee person people contact patient student teacher author member guest passenger driver
  doctor physician nurse applicant candidate beneficiary subscriber manager agent spouse father mother parent guardian
  child witness borrower lead staff worker participant attendee player actor artist donor voter resident citizen tenant
  owner recipient sender holder reviewer speaker instructor trainer volunteer buyer seller shopper caller visitor
  profile individual human friend relative family kunde kunden mitarbeiter patienten benutzer personen person klient
  utilisateur employe personne eleve cliente empleado usuario persona paciente alumno utente dipendente paziente
  klant medewerker gebruiker patient klienci pracownik pacjent uzytkownik funcionario pessoa aluno kund anstalld
  mitglied mitglieder schuler lehrer salarie adherent medlem elev`
    .trim()
    .split(/\s+/),
)
