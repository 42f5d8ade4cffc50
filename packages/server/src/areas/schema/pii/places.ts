/** Words by which addresses and towns are known, without accents. */

const listed = (words: string): ReadonlySet<string> =>
  new Set(words.split(",").map(word => word.trim().replaceAll(/\s+/g, " ")))

export const cities = listed(`
  new york, los angeles, chicago, houston, phoenix, philadelphia, san antonio, san diego, dallas, san jose, austin,
  jacksonville, fort worth, columbus, charlotte, san francisco, indianapolis, seattle, denver, washington, boston,
  nashville, detroit, portland, las vegas, memphis, louisville, baltimore, milwaukee, albuquerque, tucson, fresno,
  sacramento, kansas city, atlanta, omaha, miami, oakland, minneapolis, tulsa, tampa, new orleans, cleveland, toronto,
  montreal, vancouver, calgary, ottawa, edmonton, quebec, winnipeg, london, birmingham, manchester, leeds, liverpool,
  sheffield, bristol, glasgow, edinburgh, cardiff, belfast, leicester, nottingham, newcastle, dublin, cork, oxford,
  cambridge, brighton, berlin, hamburg, munchen, munich, koln, cologne, frankfurt, stuttgart, dusseldorf, dortmund,
  essen, leipzig, bremen, dresden, hannover, nurnberg, duisburg, bochum, bonn, munster, mannheim, karlsruhe, augsburg,
  wien, vienna, graz, linz, salzburg, innsbruck, zurich, geneva, basel, bern, lausanne, paris, marseille, lyon, toulouse,
  nice, nantes, strasbourg, montpellier, bordeaux, lille, rennes, reims, grenoble, dijon, madrid, barcelona, valencia,
  sevilla, seville, zaragoza, malaga, murcia, bilbao, alicante, cordoba, granada, lisboa, lisbon, porto, braga, roma,
  rome, milano, milan, napoli, naples, torino, turin, palermo, genova, bologna, firenze, florence, venezia, venice,
  verona, amsterdam, rotterdam, den haag, the hague, utrecht, eindhoven, groningen, bruxelles, brussels, antwerpen,
  antwerp, gent, ghent, luxembourg, warszawa, warsaw, krakow, lodz, wroclaw, poznan, gdansk, praha, prague, brno,
  bratislava, budapest, bucuresti, bucharest, sofia, beograd, belgrade, zagreb, ljubljana, athens, thessaloniki,
  istanbul, ankara, izmir, stockholm, goteborg, gothenburg, malmo, oslo, bergen, trondheim, kobenhavn, copenhagen,
  aarhus, odense, helsinki, espoo, tampere, reykjavik, tallinn, riga, vilnius, kyiv, kiev, minsk, moscow, moskva,
  sao paulo, rio de janeiro, brasilia, salvador, fortaleza, buenos aires, santiago, lima, bogota, medellin, caracas,
  mexico city, ciudad de mexico, guadalajara, monterrey, mumbai, delhi, new delhi, bangalore, bengaluru, hyderabad,
  chennai, kolkata, pune, ahmedabad, tokyo, osaka, kyoto, yokohama, seoul, busan, beijing, shanghai, shenzhen, guangzhou,
  hong kong, singapore, bangkok, jakarta, manila, kuala lumpur, sydney, melbourne, brisbane, perth, adelaide, auckland,
  wellington, cairo, lagos, nairobi, cape town, johannesburg, casablanca, tunis, dubai, abu dhabi, doha, riyadh, tel aviv
`)

/** A word of an address that stands alone (`Main Street 5`, `rue Monge 12`). */
export const streetWords = listed(`
  street, st, avenue, ave, av, road, rd, boulevard, blvd, bd, lane, ln, drive, dr, court, ct, place, pl, square, sq,
  terrace, way, highway, hwy, parkway, pkwy, circle, crescent, close, mews, apt, apartment, suite, ste, unit, floor,
  strasse, str, platz, allee, weg, gasse, ring, damm, rue, chemin, impasse, allees, quai, cours, calle, avenida, avda,
  paseo, plaza, carretera, camino, via, viale, piazza, corso, vicolo, largo, straat, laan, plein, gracht, kade, ul,
  ulica, aleja, al, os, rua, travessa, praca, alameda, gatan, gata, vagen, vag, vej, gade, gate, veien, vei, katu, tie
`)

/** The end of a word that names a street in one piece, as in `Hauptstrasse` or `Kungsgatan`. */
export const streetEndings =
  /(?:strasse|str|platz|allee|weg|gasse|damm|straat|laan|plein|gracht|kade|gatan|gata|vagen|vej|gade|gaten|veien|katu|tie)$/
