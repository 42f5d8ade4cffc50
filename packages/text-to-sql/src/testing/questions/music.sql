-- Only the held-out questions are about this schema.
CREATE TABLE artist (id int PRIMARY KEY, name text NOT NULL, home_country text NOT NULL, formed_year int);
CREATE TABLE album (id int PRIMARY KEY, title text NOT NULL, artist_id int NOT NULL REFERENCES artist, released_on date NOT NULL, label text);
CREATE TABLE track (id int PRIMARY KEY, title text NOT NULL, album_id int NOT NULL REFERENCES album, genre text NOT NULL, length_seconds int NOT NULL, explicit boolean NOT NULL);
CREATE TABLE listener (id int PRIMARY KEY, nickname text NOT NULL, subscription text NOT NULL, joined_on date NOT NULL, invited_by int REFERENCES listener);
CREATE TABLE playlist (id int PRIMARY KEY, title text NOT NULL, owner_id int NOT NULL REFERENCES listener, is_public boolean NOT NULL);
CREATE TABLE playlist_track (playlist_id int NOT NULL REFERENCES playlist, track_id int NOT NULL REFERENCES track, position int NOT NULL, PRIMARY KEY (playlist_id, track_id));
CREATE TABLE play (id int PRIMARY KEY, listener_id int NOT NULL REFERENCES listener, track_id int NOT NULL REFERENCES track, played_at timestamptz NOT NULL, device text NOT NULL);
INSERT INTO artist VALUES (1, 'Tin Harbor', 'Canada', 2009), (2, 'Velvet Mole', 'Iceland', 2014), (3, 'Oona Kay', 'Finland', NULL), (4, 'The Brass Owls', 'Canada', 1998), (5, 'Nightjar', 'Ireland', 2017), (6, 'Sable', 'Iceland', 2020);
INSERT INTO album SELECT i, (ARRAY['Low Tide','Paper Moon','Nine Doors','Cold Tea','Field Notes','Amber','Long Wave','Echo Park','Salt'])[i], 1 + (i * 2) % 5, date '2012-03-09' + i * 487, CASE WHEN i % 3 <> 0 THEN (ARRAY['Northwind','Quarry'])[1 + i % 2] END FROM generate_series(1, 9) i;
INSERT INTO track SELECT i, 'Song ' || chr(64 + i), 1 + (i * 4) % 9, (ARRAY['folk','jazz','electronic','rock'])[1 + (i * 3 + i / 5) % 4], 95 + (i * 61) % 310, i % 6 = 0 FROM generate_series(1, 26) i;
INSERT INTO listener SELECT i, (ARRAY['otter','finch','comet','pixel','maple','rune','sprig','tundra','willow','zephyr'])[i], (ARRAY['free','premium','family'])[1 + (i * i) % 3], date '2021-01-04' + i * 118, CASE WHEN i > 4 THEN i % 4 + 1 END FROM generate_series(1, 10) i;
INSERT INTO playlist SELECT i, (ARRAY['Morning','Gym','Rainy Day','Focus','Road Trip','Sunday','Archive'])[i], 1 + (i * 3) % 8, i % 3 <> 0 FROM generate_series(1, 7) i;
INSERT INTO playlist_track SELECT 1 + i % 6, 1 + (i * 7) % 23, i FROM generate_series(1, 40) i ON CONFLICT DO NOTHING;
INSERT INTO play SELECT i, 1 + (i * i) % 9, 1 + (i * 5) % 24, timestamptz '2024-03-01 07:00Z' + i * interval '17 hours', (ARRAY['phone','laptop','speaker','phone','car'])[1 + i % 5] FROM generate_series(1, 150) i;
