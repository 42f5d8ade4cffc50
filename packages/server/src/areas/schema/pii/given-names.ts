/** Frequent given and family names of Europe, the Americas, India, China and the Arab world, without accents. */

const listed = (words: string): ReadonlySet<string> => new Set(words.trim().split(/\s+/))

export const givenNames = listed(`
  james robert john michael david william richard joseph thomas christopher charles daniel matthew anthony mark donald
  steven andrew paul joshua kenneth kevin brian george timothy ronald jason edward jeffrey ryan jacob gary nicholas eric
  jonathan stephen larry justin scott brandon benjamin samuel gregory alexander patrick frank raymond jack dennis jerry
  tyler aaron jose adam nathan henry zachary douglas peter kyle noah ethan jeremy christian walter keith austin roger
  terry sean gerald carl harold dylan arthur lawrence jordan jesse bryan billy bruce gabriel joe logan alan juan albert
  willie elijah wayne randy vincent mason roy ralph bobby russell bradley philip eugene liam oliver lucas leo harry
  mary patricia jennifer linda elizabeth barbara susan jessica sarah karen lisa nancy betty sandra margaret ashley
  kimberly emily donna michelle carol amanda melissa deborah stephanie rebecca sharon laura cynthia dorothy amy kathleen
  angela shirley emma brenda pamela nicole anna samantha katherine christine helen debra rachel carolyn janet maria
  catherine heather diane olivia julie joyce victoria ruth virginia lauren kelly christina joan evelyn judith andrea
  hannah megan cheryl jacqueline martha madison teresa gloria sara janice ann kathryn abigail sophia frances jean alice
  judy isabella julia grace amber denise danielle marilyn beverly charlotte natalie theresa diana brittany doris kayla
  alexis lori marie ava mia ella chloe lily zoe lucy ellie freya isla poppy amelia jane kate anne claire fiona
  hans peter klaus wolfgang jurgen juergen dieter manfred uwe gunter guenter horst bernd helmut heinz werner gerhard
  andreas stefan markus matthias sebastian tobias florian felix jonas lukas maximilian moritz niklas tim jan finn paul
  lars sven jens torsten thorsten ralf rolf karl friedrich johannes ursula monika petra elisabeth sabine renate helga
  karin brigitte ingrid erika gisela katharina johanna lena leonie lea anja birgit heike silke tanja kerstin jutta greta
  pierre michel jacques philippe alain bernard christophe laurent nicolas julien antoine guillaume olivier francois
  thierry pascal hugo louis theo mathieu maxime nathalie isabelle sylvie francoise monique camille manon juliette chantal
  valerie sandrine celine aurelie elodie margaux jeanne lucie
  antonio jose manuel francisco javier carlos miguel alejandro rafael pedro pablo sergio fernando jorge alberto luis
  alvaro diego adrian raul enrique ramon vicente ivan ruben oscar andres joaquin santiago eduardo ricardo mario gonzalo
  carmen josefa isabel dolores pilar teresa rosa cristina lucia paula marta elena raquel silvia beatriz alba irene
  rocio ines sofia valentina camila mariana gabriela daniela ana luisa juana guadalupe veronica adriana alejandra
  giuseppe giovanni mario luigi marco francesco andrea alessandro lorenzo matteo davide luca simone stefano paolo
  roberto angelo vincenzo salvatore giulia chiara francesca federica martina valentina giorgia alessia elisa silvia
  paola simona giovanna rosa angela lucia caterina
  jeroen daan sem bram thijs ruben sander bart joost pieter willem hendrik maarten wouter sanne lotte fleur anouk femke
  marieke ingrid esther saskia
  piotr krzysztof andrzej tomasz pawel jan michal marcin jakub adam lukasz grzegorz stanislaw mateusz wojciech
  katarzyna malgorzata agnieszka barbara krystyna ewa elzbieta zofia magdalena joanna aleksandra monika zuzanna
  joao paulo lucas gabriel marcos rafael felipe bruno thiago tiago rodrigo gustavo leonardo vitor fernanda juliana
  patricia aline bruna leticia larissa beatriz amanda vitoria
  erik anders johan lars karl mikael nils per olof gustav magnus henrik soren mads rasmus ole knut bjorn kari astrid
  sigrid ingeborg freja maja elsa linnea ebba matti juhani mikko antti jukka
  ivan dmitri dmitry sergei sergey alexei alexey vladimir nikolai mikhail andrei igor oleg yuri anastasia olga natalia
  tatiana svetlana irina ekaterina ludmila
  mohammed muhammad mohamed ahmed ali hassan hussein omar khalid ibrahim yusuf mustafa mehmet fatima aisha khadija
  zainab maryam leila layla amina noor yasmin hana
  raj rahul amit sanjay vijay anil sunil rajesh suresh ramesh arjun rohan aditya vikram priya anjali pooja neha kavita
  sunita deepika lakshmi meera asha
  wei ming jun hui lei yan hiroshi takashi kenji yuki haruto sakura yuto akira minjun jisoo seojun
`)

export const familyNames = listed(`
  smith johnson williams brown jones garcia miller davis rodriguez martinez hernandez lopez gonzalez wilson anderson
  thomas taylor moore jackson martin lee perez thompson white harris sanchez clark ramirez lewis robinson walker young
  allen king wright scott torres nguyen hill flores green adams nelson baker hall rivera campbell mitchell carter
  roberts gomez phillips evans turner diaz parker cruz edwards collins reyes stewart morris morales murphy cook rogers
  gutierrez ortiz morgan cooper peterson bailey reed kelly howard ramos kim cox ward richardson watson brooks chavez
  wood james bennett gray mendoza ruiz hughes price alvarez castillo sanders patel myers long ross foster jimenez
  powell jenkins perry russell sullivan bell coleman butler henderson barnes fisher vasquez simmons graham murray ford
  muller mueller schmidt schneider fischer weber meyer wagner becker schulz hoffmann schafer schaefer koch bauer
  richter klein wolf schroder schroeder neumann schwarz zimmermann braun kruger krueger hofmann hartmann lange werner
  krause lehmann schmid schulze maier kohler koehler herrmann konig koenig walter mayer huber kaiser fuchs peters lang
  scholz moller moeller weiss jung hahn schubert vogel friedrich keller gunther frank berger winkler roth beck lorenz
  bernard dubois durand petit leroy moreau simon laurent lefebvre michel bertrand fournier girard bonnet dupont
  lambert fontaine rousseau vincent faure mercier blanc guerin boyer garnier chevalier francois legrand gauthier
  fernandez moreno munoz alonso romero navarro dominguez vazquez gil serrano blanco molina delgado ortega rubio marin
  sanz iglesias nunez medina garrido santos castro cortes lozano guerrero cano prieto mendez calvo gallego vidal
  rossi russo ferrari esposito bianchi romano colombo ricci marino greco bruno gallo conti mancini costa giordano
  rizzo lombardi moretti barbieri fontana santoro mariani rinaldi caruso ferrara galli martini leone
  jong jansen vries bakker visser smit meijer boer mulder groot bos vos peeters hendriks dijk leeuwen dekker brouwer
  nowak kowalski wisniewski wojcik kowalczyk kaminski lewandowski zielinski szymanski wozniak dabrowski kozlowski
  jankowski mazur kwiatkowski krawczyk kowalska wisniewska kaminska nowicka
  silva souza oliveira pereira lima carvalho ferreira ribeiro almeida gomes rodrigues alves barbosa rocha dias nunes
  andersson johansson karlsson nilsson eriksson larsson olsson persson svensson gustafsson hansen jensen nielsen
  pedersen andersen christensen larsen sorensen rasmussen olsen johansen korhonen virtanen makinen
  ivanov smirnov kuznetsov popov sokolov lebedev kozlov novikov morozov petrov volkov ivanova petrova
  sharma singh kumar gupta verma shah khan ahmed ali hussain reddy rao mehta joshi iyer nair das
  wang li zhang liu chen yang huang zhao wu zhou xu sun ma zhu hu guo tanaka suzuki sato takahashi watanabe ito
  yamamoto nakamura kobayashi park choi kang yilmaz kaya demir celik
`)
